"""The bandit over augmentation policies, as arrays: no loop over arms, nothing per arm in Python.

======== ==================================================== ==========
symbol   meaning                                              shape
======== ==================================================== ==========
n_k      plays of each policy                                 (22500,)
r_total  sum of each policy's scaled rewards                  (22500,)
squares  sum of their squares, for the variance               (22500,)
active   whether a policy may be played                       (22500,)
n        plays in all                                         scalar
C        exploration coefficient of UCB and LCB               scalar
======== ==================================================== ==========

Reference: chapter 3 of the thesis, Eqs. 3.2, 3.3, 3.5 and 3.6, Algorithm 2 lines 8-12.

Differs from the thesis in three points on which it is silent. A policy without a play counts as one played once with
the reward ½. Until 20 rewards have been seen a reward counts ½, since percentiles of fewer mean nothing.
The percentiles are those of the last 1,000 rewards: the spread of the gains shrinks while a network
learns, and a sample of the whole past would scale late gains by early ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoestring.augment.policies import POLICIES

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

RESERVOIR = 1000
_ENOUGH = 20
_NEUTRAL = 0.5


@dataclass
class Bandit:
    """What has been learned about the policies, and which may be played.

    >>> bandit = Bandit()
    >>> bandit.update(7, 0.3)
    >>> int(bandit.counts[7]), float(bandit.totals[7]), bandit.plays
    (1, 0.5, 1)
    """

    C: float = 1.0
    counts: Integers = field(default_factory=lambda: np.zeros(POLICIES, dtype=np.int64))
    totals: Array = field(default_factory=lambda: np.zeros(POLICIES))
    squares: Array = field(default_factory=lambda: np.zeros(POLICIES))
    active: NDArray[np.bool_] = field(default_factory=lambda: np.ones(POLICIES, dtype=bool))
    reservoir: Array = field(default_factory=lambda: np.zeros(RESERVOIR))
    plays: int = 0

    def update(self, policy: int, gain: float) -> None:
        """Algorithm 2, lines 8-12: scale the net prediction gain and book it; one that is not finite is the worst."""
        if not math.isfinite(gain):
            gain = float(self.reservoir.min())
        reward = self.scaled(gain)
        self.reservoir[self.plays % RESERVOIR] = gain
        self.plays += 1
        self.counts[policy] += 1
        self.totals[policy] += reward
        self.squares[policy] += reward * reward

    def scaled(self, gain: float) -> float:
        """A gain mapped to [0, 1] by the 20th and 80th percentile of the gains before it (Eq. 3.5)."""
        if self.plays < _ENOUGH:
            return _NEUTRAL
        low, high = np.percentile(self.reservoir[: min(self.plays, RESERVOIR)], (20, 80))
        if high <= low:
            return _NEUTRAL if gain == low else float(gain > low)
        return float(min(max((gain - low) / (high - low), 0.0), 1.0))

    def sample(self, rng: np.random.Generator) -> int:
        """An active policy with probability softmax(−LCB) (Eqs. 3.2 and 3.3)."""
        arms = np.flatnonzero(self.active)
        counts = self.counts[arms]
        score = bonus(self.C, self.plays, counts) - means(counts, self.totals[arms])  # −LCB
        weights = np.cumsum(np.exp(score - score.max()))
        return int(arms[min(np.searchsorted(weights, rng.random() * weights[-1], side="right"), len(arms) - 1)])


def means(counts: Integers, totals: Array) -> Array:
    """Mean reward of each arm; ½ where there is none."""
    return np.where(counts > 0, totals / np.maximum(counts, 1), _NEUTRAL)


def bonus(C: float, plays: int, counts: Integers) -> Array:
    """The width C·√(2·ln n / n_k) of Eqs. 3.2 and 3.6."""
    return np.asarray(C * np.sqrt(2.0 * math.log(max(plays, 1)) / np.maximum(counts, 1)))
