"""The 22,500 policies as numbers: two of fifteen operations, each at one of ten magnitude levels.

Policy k is ((first · 15 + second) · 10 + first level) · 10 + second level, so the hundred policies of a pair of
operations are contiguous and a sum over a pair is a sum over a row of ``reshape(225, 100)``.

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021: the search space of section 3.1 and the magnitude stages of Figure 3.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoestring._arrays import Codes
from shoestring.errors import SpaceError

OPERATIONS = (
    "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "AutoContrast", "Invert", "Equalize",
    "Solarize", "Posterize", "Contrast", "Color", "Brightness", "Sharpness", "Cutout",
)  # fmt: skip
LEVELS = 10
PAIRS = len(OPERATIONS) ** 2
PER_PAIR = LEVELS**2
POLICIES = PAIRS * PER_PAIR

# Figure 3.3: sums of the two levels that each stage adds to those before it.
_STAGE_SUMS = ((0, 1, 2, 7, 8, 13, 14), (3, 4, 9, 10, 15, 16), (5, 6, 11, 12, 17, 18))
STAGES = len(_STAGE_SUMS)

_POLICY = re.compile(r"(\w+)\((\d)\),\s*(\w+)\((\d)\)")


@dataclass(frozen=True)
class Pair:
    """Two operations, one after the other, at any level.

    >>> str(Pair("Rotate", "Color"))
    'Rotate, Color'
    """

    first: str
    second: str

    @classmethod
    def at(cls, index: int) -> Pair:
        """The pair at a place among the 225."""
        if not 0 <= index < PAIRS:
            raise SpaceError(f"there is no pair {index}; they are numbered from 0 to {PAIRS - 1}")
        return cls(OPERATIONS[index // len(OPERATIONS)], OPERATIONS[index % len(OPERATIONS)])

    @property
    def index(self) -> int:
        """Its place among the 225 pairs."""
        for operation in (self.first, self.second):
            if operation not in OPERATIONS:
                raise SpaceError(f"there is no operation {operation!r}; there are {', '.join(OPERATIONS)}")
        return OPERATIONS.index(self.first) * len(OPERATIONS) + OPERATIONS.index(self.second)

    def __str__(self) -> str:
        return f"{self.first}, {self.second}"


@dataclass(frozen=True)
class Policy:
    """Two operations, one after the other, each at its level: O₂(O₁(x, λ₁), λ₂), Eq. 3.1.

    >>> policy = Policy("Color", 9, "Rotate", 6)
    >>> str(policy), policy == Policy.at(policy.index) == Policy.parse("Color(9), Rotate(6)")
    ('Color(9), Rotate(6)', True)
    """

    first: str
    first_level: int
    second: str
    second_level: int

    @classmethod
    def at(cls, index: int) -> Policy:
        """The policy at a place among the 22,500."""
        if not 0 <= index < POLICIES:
            raise SpaceError(f"there is no policy {index}; they are numbered from 0 to {POLICIES - 1}")
        pair, levels = Pair.at(index // PER_PAIR), index % PER_PAIR
        return cls(pair.first, levels // LEVELS, pair.second, levels % LEVELS)

    @classmethod
    def parse(cls, text: str) -> Policy:
        """The policy that ``str`` wrote."""
        found = _POLICY.fullmatch(text.strip())
        if found is None:
            raise SpaceError(f"{text!r} is not a policy; write one as 'Color(9), Rotate(6)'")
        policy = cls(found[1], int(found[2]), found[3], int(found[4]))
        _ = policy.index  # refuses operations that do not exist
        return policy

    @property
    def index(self) -> int:
        """Its place among the 22,500 policies."""
        if not (0 <= self.first_level < LEVELS and 0 <= self.second_level < LEVELS):
            raise SpaceError(f"{self} has a level outside of 0 to {LEVELS - 1}")
        return (self.pair.index * LEVELS + self.first_level) * LEVELS + self.second_level

    @property
    def pair(self) -> Pair:
        return Pair(self.first, self.second)

    def __str__(self) -> str:
        return f"{self.first}({self.first_level}), {self.second}({self.second_level})"


def decode(policies: Any) -> tuple[Codes, Codes]:
    """Operations and levels of policy numbers, both (n, 2): column 0 is applied first.

    >>> operations, levels = decode([Policy("ShearY", 3, "Cutout", 7).index])
    >>> operations.tolist(), levels.tolist()
    ([[1, 14]], [[3, 7]])
    """
    pairs, levels = np.divmod(np.asarray(policies, dtype=np.int64), PER_PAIR)
    return np.stack(np.divmod(pairs, len(OPERATIONS)), axis=-1), np.stack(np.divmod(levels, LEVELS), axis=-1)


def sum_by_pair(values: Any) -> Any:
    """Sums of (22500,) values over the levels of each pair, shape (225,)."""
    return values.reshape(PAIRS, PER_PAIR).sum(axis=1)


def stage_of_levels() -> Codes:
    """For each of a pair's hundred policies, the first magnitude stage that includes it (Figure 3.3), shape (100,).

    >>> [int((stage_of_levels() <= stage).sum()) for stage in range(STAGES)]
    [34, 69, 100]
    """
    stages = {total: stage for stage, sums in enumerate(_STAGE_SUMS) for total in sums}
    return np.array([stages[sum(divmod(levels, LEVELS))] for levels in range(PER_PAIR)])
