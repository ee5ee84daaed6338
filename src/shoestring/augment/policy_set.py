"""What a search found: a ranking of policies and of pairs that can be read, kept, joined and used elsewhere.

A set holds the plays, sums and sums of squares of the rewards of every policy, nothing about the data or the network.
So both estimates can be had from it afterwards, two sets are joined by adding, and it serves any images.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoestring.augment.bandit import Array, Bandit, Integers, bonus
from shoestring.augment.estimates import Estimates, from_sums
from shoestring.augment.policies import (
    OPERATIONS,
    PAIRS,
    PER_PAIR,
    POLICIES,
    Pair,
    Policy,
    pair_at,
    pair_mask,
    policy_at,
    policy_from,
)
from shoestring.errors import MethodError, StorageError

_FORMAT = 1
_COLUMNS = ("policy", "plays", "total", "squares", "mean", "ucb")
_SHARE = 0.2  # the 1,500 of 7,650 policies that the thesis takes by UCB and by mean


@dataclass(frozen=True)
class RankedPolicy:
    """A policy with its estimated reward, its upper confidence bound and its plays."""

    policy: Policy
    mean: float
    ucb: float
    plays: int

    def __str__(self) -> str:
        return f"{self.policy}  {self.mean:.3f}, at most {self.ucb:.3f}, {self.plays} plays"


@dataclass(frozen=True)
class RankedPair:
    """A pair of operations with the same, over all its levels."""

    pair: Pair
    mean: float
    ucb: float
    plays: int

    def __str__(self) -> str:
        return f"{self.pair}  {self.mean:.3f}, at most {self.ucb:.3f}, {self.plays} plays"


@dataclass(frozen=True, eq=False)
class PolicySet:
    """Policies that were played, from the best to the worst.

    >>> bandit = Bandit()
    >>> for gain in range(40):
    ...     bandit.update(Policy("Rotate", 3, "Color", 1).index, gain)
    ...     bandit.update(Policy("Invert", 9, "Color", 1).index, -gain)
    >>> found = PolicySet.from_bandit(bandit)
    >>> print(found.top(1)[0].policy, "|", found.bottom_pairs(1)[0].pair)
    Rotate(3), Color(1) | Invert, Color
    """

    counts: Integers
    totals: Array
    squares: Array
    estimate: str = "shrunk"
    C: float = 1.0
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_bandit(cls, bandit: Bandit, estimate: str = "shrunk", about: Mapping[str, Any] | None = None) -> PolicySet:
        """What a bandit has learned, as it stands."""
        counts, totals, squares = bandit.counts.copy(), bandit.totals.copy(), bandit.squares.copy()
        return cls(counts, totals, squares, estimate, bandit.C, dict(about or {}))

    def with_estimate(self, estimate: str) -> PolicySet:
        """The same plays, ranked by ``"shrunk"`` or by ``"mean"``."""
        return replace(self, estimate=estimate)

    @property
    def plays(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _estimates(self) -> Estimates:
        return from_sums(self.counts, self.totals, self.squares, self.estimate)

    @cached_property
    def _pair_counts(self) -> Integers:
        return np.asarray(self.counts.reshape(PAIRS, PER_PAIR).sum(axis=1))

    def order(self, by: str = "mean") -> Integers:
        """The policies that were played, best first, by their ``"mean"`` or their ``"ucb"``."""
        return _order(self._values(by), self.counts)

    def pair_order(self) -> Integers:
        """The pairs that were played, best first."""
        return _order(self._estimates.pairs, self._pair_counts)

    def _values(self, by: str) -> Array:
        if by not in ("mean", "ucb"):
            raise MethodError(f"by={by!r} is not known; there are 'mean' and 'ucb'")
        means = self._estimates.policies
        return means if by == "mean" else np.asarray(means + bonus(self.C, self.plays, self.counts))

    @property
    def policies(self) -> tuple[RankedPolicy, ...]:
        """All policies that were played, best first."""
        return self._ranked(self.order())

    @property
    def pairs(self) -> tuple[RankedPair, ...]:
        """All pairs that were played, best first."""
        return self._ranked_pairs(self.pair_order())

    def top(self, n: int) -> tuple[RankedPolicy, ...]:
        """The n best policies by their mean."""
        return self._ranked(self.order()[:n])

    def bottom(self, n: int) -> tuple[RankedPolicy, ...]:
        """The n worst policies, the worst first."""
        return self._ranked(self.order()[::-1][:n])

    def top_pairs(self, n: int) -> tuple[RankedPair, ...]:
        """The n best pairs."""
        return self._ranked_pairs(self.pair_order()[:n])

    def bottom_pairs(self, n: int) -> tuple[RankedPair, ...]:
        """The n worst pairs, the worst first."""
        return self._ranked_pairs(self.pair_order()[::-1][:n])

    def union(self, n: int | None = None) -> tuple[RankedPolicy, ...]:
        """The thesis's choice: the n best by UCB and the n best by mean; n is a fifth of those played by default."""
        return self._ranked(self.union_order(n))

    def union_order(self, n: int | None = None) -> Integers:
        """The same as indices, by mean."""
        n = max(round(_SHARE * np.count_nonzero(self.counts)), 1) if n is None else n
        chosen = np.union1d(self.order("mean")[:n], self.order("ucb")[:n])
        return self.order()[np.isin(self.order(), chosen)]

    def keep(self, share: float = 0.5) -> tuple[Policy, ...]:
        """All levels of the best share of the pairs: what harms is left out, what remains keeps its variety."""
        if not 0 < share <= 1:
            raise MethodError(f"share={share!r} is not possible: above 0 and at most 1 is")
        return policies_of(self.top_pairs(max(int(share * np.count_nonzero(self._pair_counts)), 1)))

    def heatmap(self) -> Array:
        """Mean rewards of the pairs (15, 15): rows first operations, columns second ones; NaN without a play."""
        values = np.where(self._pair_counts > 0, self._estimates.pairs, np.nan)
        return values.reshape(len(OPERATIONS), len(OPERATIONS))

    def merge(self, other: PolicySet, weight: float = 1.0) -> PolicySet:
        """Both searches as one; ``weight`` is what a play of the other counts, if its data are only alike."""
        if not 0 < weight <= 1:
            raise MethodError(f"weight={weight!r} is not possible: above 0 and at most 1 is")
        scale = np.floor(other.counts * weight + 0.5) / np.maximum(other.counts, 1)
        return replace(
            self,
            counts=self.counts + np.floor(other.counts * weight + 0.5).astype(np.int64),
            totals=self.totals + other.totals * scale,
            squares=self.squares + other.squares * scale,
            about={"merged": [dict(self.about), dict(other.about)], "weight": weight},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set as JSON, best policy first, one a line."""
        head = {
            "format": _FORMAT,
            "estimate": self.estimate,
            "C": self.C,
            "about": dict(self.about),
            "columns": _COLUMNS,
        }
        rows = ",\n".join(f"  {json.dumps(row)}" for row in self._rows())
        try:
            Path(path).write_text(f'{json.dumps(head)[:-1]}, "policies": [\n{rows}\n]}}\n', encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from None

    def _rows(self) -> Iterator[list[Any]]:
        columns = self.counts, self.totals, self.squares, self._values("mean").round(6), self._values("ucb").round(6)
        for index in self.order().tolist():
            yield [str(policy_at(index)), *(column[index].item() for column in columns)]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PolicySet:
        """Read what ``save`` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] > _FORMAT:
                raise StorageError(f"{path} was written by a newer shoestring")
            counts, totals, squares = np.zeros(POLICIES, dtype=np.int64), np.zeros(POLICIES), np.zeros(POLICIES)
            for words, plays, total, square, *_ in content["policies"]:
                index = policy_from(words).index
                counts[index], totals[index], squares[index] = plays, total, square
            return cls(counts, totals, squares, content["estimate"], content["C"], content["about"])
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is no set of policies: {error}") from error

    def to_torchvision(self, seed: int = 0) -> Any:
        """A transform of one image, PIL or tensor, to stand in a ``torchvision.transforms.Compose``."""
        from shoestring.augment.transform import Augment

        return Augment(self, seed=seed)

    def to_kornia(self, seed: int = 0) -> Any:
        """A module of batches, for a ``kornia.augmentation.ImageSequential`` or a network; idle in ``eval()``."""
        from shoestring.augment.transform import AugmentModule

        return AugmentModule(self, seed=seed)

    def _ranked(self, order: Integers) -> tuple[RankedPolicy, ...]:
        means, ucbs = self._values("mean"), self._values("ucb")
        return tuple(
            RankedPolicy(policy_at(int(k)), float(means[k]), float(ucbs[k]), int(self.counts[k])) for k in order
        )

    def _ranked_pairs(self, order: Integers) -> tuple[RankedPair, ...]:
        means, plays = self._estimates.pairs, self._pair_counts
        ucbs = means + bonus(self.C, self.plays, plays)
        return tuple(RankedPair(pair_at(int(j)), float(means[j]), float(ucbs[j]), int(plays[j])) for j in order)


def policies_of(pairs: Any) -> tuple[Policy, ...]:
    """All hundred policies of each pair, for training with pairs at random levels (Table 3.6).

    >>> len(policies_of([Pair("Rotate", "Color")]))
    100
    """
    indices = [(pair.pair if isinstance(pair, RankedPair) else pair).index for pair in pairs]
    return tuple(policy_at(int(index)) for index in np.flatnonzero(pair_mask(indices)))


def _order(values: Array, counts: Integers) -> Integers:
    """Best first among those with plays; ties by more plays, then in a fixed order that follows no operation."""
    played = np.flatnonzero(counts)
    # A permutation of the indices by a multiplier without a common factor: ties must not favour the first operations.
    shuffled = played * 7919 % POLICIES
    return played[np.lexsort((shuffled, -counts[played], -values[played]))]
