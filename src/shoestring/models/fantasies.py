"""The joint posterior of a few arms of a freeze-thaw belief, conditioned on imagined readings.

======  =====================================================================  =======
symbol  meaning                                                                shape
======  =====================================================================  =======
μ, C    mean and covariance of the arms' asymptotes                            (n,), (n, n)
q       readings of each arm, the start included                               (n,)
p       Σ_{i<q} L_si·z_i: the part of each place's mean from own readings      (n, Q)
S       variance of an arm's next reading                                      (n,)
======  =====================================================================  =======
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.models.freeze_thaw import Belief, TimeGrid


@lru_cache
def gauss_hermite(nodes: int) -> tuple[tuple[float, float], ...]:
    """Nodes and weights that average a function of a standard normal: where a reading is imagined, in deviations."""
    at, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return tuple(zip(at.tolist(), (weights / weights.sum()).tolist(), strict=True))


@dataclass(frozen=True)
class Fantasy:
    """Some arms of a belief, with real and imagined readings; the symbols are above."""

    grid: TimeGrid
    mu: Array
    C: Array
    q: Codes
    p: Array

    @classmethod
    def of(cls, belief: Belief, values: Array, arms: Codes) -> Fantasy:
        """Some arms of a belief, given its readings (K, times)."""
        z, mu = belief.whiten_with_asymptotes(values)
        C, back = belief.covariance(np.sort(arms)), np.argsort(np.argsort(arms))
        return cls(belief.grid, mu[arms], C[np.ix_(back, back)], belief.counts[arms], z[arms] @ belief.grid.L.T)

    def next_readings(self) -> tuple[Array, Array]:
        """Mean and variance S of each arm's next reading; infinite and 0 for an arm at its end. Shapes (n,)."""
        last = self.p.shape[1] - 1
        arms, at = np.arange(len(self.q)), np.minimum(self.q, last)
        omega = self.grid.omega[self.q, at]
        mean = self.p[arms, at] + omega * self.mu
        variance = self.grid.variance[self.q, at] + omega**2 * np.diag(self.C)
        unfinished = self.q <= last
        return np.where(unfinished, mean, np.inf), np.where(unfinished, variance, 0.0)

    def shift(self, arm: int) -> Array:
        """By how much each asymptote moves if the arm's next reading is one deviation above its mean: C_k·Ω/√S."""
        at = int(self.q[arm])
        omega = self.grid.omega[at, at]
        variance = self.grid.variance[at, at] + omega**2 * self.C[arm, arm]
        return np.asarray(self.C[arm] * omega / math.sqrt(variance))

    def after(self, arm: int, reading: float) -> Fantasy:
        """The same arms once the arm's next reading is known."""
        means, variances = self.next_readings()
        at, shift = int(self.q[arm]), self.shift(arm)
        q, p = self.q.copy(), self.p.copy()
        q[arm] += 1
        p[arm] += self.grid.L[:, at] * (reading - p[arm, at]) / self.grid.L[at, at]
        mu = self.mu + shift * (reading - means[arm]) / math.sqrt(variances[arm])
        return replace(self, mu=mu, C=self.C - np.outer(shift, shift), q=q, p=p)
