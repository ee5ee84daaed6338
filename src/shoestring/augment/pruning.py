"""Which policies stay in play after a round: evolutionary pruning of pairs, successive halving of policies, or none.

A rule turns what the bandit has learned into the new active mask. The only state of its own is the magnitude stage of
each pair, an array that is saved with the bandit.

Reference: Algorithm 3 and the ablations of Table 3.7. Differs from the thesis in breaking ties at random: about a
fifth of the scaled rewards are exactly 1, and ties by index would favour shears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoestring.augment.bandit import Array, Bandit, Integers, bonus
from shoestring.augment.estimates import estimated
from shoestring.augment.policies import PAIRS, PER_PAIR, POLICIES, STAGES, stage_of_levels
from shoestring.errors import MethodError

Mask = NDArray[np.bool_]


class Pruning(Protocol):
    """A rule that decides which policies may be played."""

    def first(self) -> Mask:
        """The policies of the first round."""
        ...

    def next(self, round: int, bandit: Bandit, stages: Integers, estimate: str, rng: np.random.Generator) -> Mask:
        """The policies of the round after ``round`` (1, 2, …); ``stages`` (225,) is changed in place."""
        ...


@dataclass(frozen=True)
class EvolutionaryOperationPruning:
    """Keep 225·(2/3)^t pairs, chosen anew from all by UCB, and let the magnitudes of those that stay grow."""

    keep: float = 2 / 3

    def first(self) -> Mask:
        return _staged(np.arange(PAIRS), np.zeros(PAIRS, dtype=np.int64))

    def next(self, round: int, bandit: Bandit, stages: Integers, estimate: str, rng: np.random.Generator) -> Mask:
        values = pair_ucb(bandit, estimate)  # line 2
        kept = ranked(values, rng)[: max(int(PAIRS * self.keep**round), 1)]  # lines 3 and 4
        if round >= 2:  # lines 6 and 7
            stages[kept] = np.minimum(stages[kept] + 1, STAGES - 1)
        return _staged(kept, stages)  # lines 1 and 8


@dataclass(frozen=True)
class SuccessiveHalving:
    """Drop the worst third of the policies after each round, whatever their operations."""

    keep: float = 2 / 3

    def first(self) -> Mask:
        return np.ones(POLICIES, dtype=bool)

    def next(self, round: int, bandit: Bandit, stages: Integers, estimate: str, rng: np.random.Generator) -> Mask:
        values = estimated(bandit, estimate).policies + bonus(bandit.C, bandit.plays, bandit.counts)
        values = np.where(bandit.active, values, -np.inf)
        mask = np.zeros(POLICIES, dtype=bool)
        mask[ranked(values, rng)[: max(int(bandit.active.sum() * self.keep), 1)]] = True
        return mask


@dataclass(frozen=True)
class NoPruning:
    """Every policy stays in play."""

    def first(self) -> Mask:
        return np.ones(POLICIES, dtype=bool)

    def next(self, round: int, bandit: Bandit, stages: Integers, estimate: str, rng: np.random.Generator) -> Mask:
        return bandit.active


RULES: dict[str, Pruning] = {"eop": EvolutionaryOperationPruning(), "sh": SuccessiveHalving(), "none": NoPruning()}


def rule(name: str) -> Pruning:
    """A rule by its name."""
    if name not in RULES:
        raise MethodError(f"pruning={name!r} is not known; there are {', '.join(map(repr, RULES))}")
    return RULES[name]


def pair_ucb(bandit: Bandit, estimate: str) -> Array:
    """Eq. 3.6 for every pair, shape (225,)."""
    plays = bandit.counts.reshape(PAIRS, PER_PAIR).sum(axis=1)
    return np.asarray(estimated(bandit, estimate).pairs + bonus(bandit.C, bandit.plays, plays))


def ranked(values: Array, rng: np.random.Generator) -> Integers:
    """Indices from the largest value to the smallest, ties in random order."""
    return np.lexsort((rng.random(len(values)), -values))


def _staged(pairs: Integers, stages: Integers) -> Mask:
    """The policies of some pairs at their magnitude stages."""
    mask = np.zeros((PAIRS, PER_PAIR), dtype=bool)
    mask[pairs] = stage_of_levels()[None, :] <= stages[pairs, None]
    return mask.ravel()
