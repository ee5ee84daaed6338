"""The bandit over augmentation policies: every arm is a policy, and all arms are handled as arrays.

======== ==================================================== ==========
symbol   meaning                                              shape
======== ==================================================== ==========
n_k      plays of each policy                                 (22500,)
r_total  sum of each policy's scaled rewards                  (22500,)
squares  sum of their squares, for the variance               (22500,)
active   whether a policy may be played                       (22500,)
n        plays in total                                       scalar
C        exploration coefficient of UCB and LCB               scalar
======== ==================================================== ==========

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021: Eqs. 3.2, 3.3, 3.5 and 3.6, Algorithm 2 lines 8-12.

Differs from the thesis in three points that it does not specify. A policy without a play is treated as played once
with reward ½. The first 20 rewards are set to ½, since percentiles of fewer gains are meaningless. The percentiles are
those of the last 1,000 gains: the spread of the gains shrinks while a network learns, and a sample of the whole past
would scale late gains by early ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.augment.estimates import NEUTRAL, Estimate, Estimates, confidence_width, estimate_rewards, mean_rewards
from shoestring.augment.policies import POLICIES

RESERVOIR = 1000
_ENOUGH = 20


@dataclass
class Bandit:
    """The statistics of all policies, and which of them may be played.

    >>> bandit = Bandit()
    >>> bandit.update(7, 0.3)
    >>> int(bandit.counts[7]), float(bandit.totals[7]), bandit.plays
    (1, 0.5, 1)
    """

    counts: Codes = field(default_factory=lambda: np.zeros(POLICIES, dtype=np.int64))
    totals: Array = field(default_factory=lambda: np.zeros(POLICIES))
    squares: Array = field(default_factory=lambda: np.zeros(POLICIES))
    active: Mask = field(default_factory=lambda: np.ones(POLICIES, dtype=bool))
    reservoir: Array = field(default_factory=lambda: np.zeros(RESERVOIR))
    plays: int = 0

    def update(self, policy: int, gain: float) -> None:
        """Scale a net prediction gain and record it (Algorithm 2, lines 8-12); one that is not finite is the worst."""
        if not math.isfinite(gain):
            gain = float(self.reservoir.min())
        reward = self.scale(gain)
        self.reservoir[self.plays % RESERVOIR] = gain
        self.plays += 1
        self.counts[policy] += 1
        self.totals[policy] += reward
        self.squares[policy] += reward * reward

    def scale(self, gain: float) -> float:
        """A gain mapped to [0, 1] by the 20th and 80th percentile of the gains before it (Eq. 3.5)."""
        if self.plays < _ENOUGH:
            return NEUTRAL
        low, high = np.percentile(self.reservoir[: min(self.plays, RESERVOIR)], (20, 80))
        if high <= low:
            return NEUTRAL if gain == low else float(gain > low)
        return float(min(max((gain - low) / (high - low), 0.0), 1.0))

    def sample(self, rng: np.random.Generator) -> int:
        """An active policy with probability softmax(−LCB) (Eqs. 3.2 and 3.3)."""
        arms = np.flatnonzero(self.active)
        counts = self.counts[arms]
        score = confidence_width(self.plays, counts) - mean_rewards(counts, self.totals[arms])  # −LCB
        weights = np.cumsum(np.exp(score - score.max()))
        return int(arms[min(np.searchsorted(weights, rng.random() * weights[-1], side="right"), len(arms) - 1)])

    def estimates(self, kind: Estimate) -> Estimates:
        """The estimated rewards of all policies and pairs."""
        return estimate_rewards(self.counts, self.totals, self.squares, kind)
