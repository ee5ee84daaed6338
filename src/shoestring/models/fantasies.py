"""A few arms of a freeze-thaw belief, led on by imagined readings.

======  =====================================================================  =======
symbol  meaning                                                                shape
======  =====================================================================  =======
μ, C    mean and covariance of the arms' asymptotes                            (n,), (n, n)
q       readings of each arm, the start included                               (n,)
p       Σ_{i<q} L_si·z_i: what an arm's own readings say of each place         (n, Q)
e, S    the next reading minus its mean, and its variance                      (n,)
======  =====================================================================  =======
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoestring.models.freeze_thaw import Belief, Clock

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Some arms of a belief; the symbols are above."""

    clock: Clock
    mu: Array
    C: Array
    q: Codes
    p: Array

    def next_readings(self) -> tuple[Array, Array]:
        """Mean and variance S of each arm's next reading; infinite and 0 for an arm at its end. Shapes (n,)."""
        last = self.p.shape[1] - 1
        arms, at = np.arange(len(self.q)), np.minimum(self.q, last)
        omega = self.clock.omega[self.q, at]
        mean = self.p[arms, at] + omega * self.mu
        variance = self.clock.variance[self.q, at] + omega**2 * np.diag(self.C)
        going = self.q <= last
        return np.where(going, mean, np.inf), np.where(going, variance, 0.0)

    def shift(self, arm: int) -> Array:
        """By how much each asymptote moves if the arm's next reading is one deviation above its mean: C_k·Ω/√S."""
        at = int(self.q[arm])
        omega = self.clock.omega[at, at]
        variance = self.clock.variance[at, at] + omega**2 * self.C[arm, arm]
        return np.asarray(self.C[arm] * omega / math.sqrt(variance))

    def after(self, arm: int, reading: float) -> Part:
        """The same arms once the arm's next reading is known."""
        means, variances = self.next_readings()
        at, shift = int(self.q[arm]), self.shift(arm)
        q, p = self.q.copy(), self.p.copy()
        q[arm] += 1
        p[arm] += self.clock.L[:, at] * (reading - p[arm, at]) / self.clock.L[at, at]
        mu = self.mu + shift * (reading - means[arm]) / math.sqrt(variances[arm])
        return Part(self.clock, mu, self.C - np.outer(shift, shift), q, p)


def part_of(belief: Belief, values: Array, arms: Codes) -> Part:
    """Some arms of a belief, given its readings (K, times)."""
    z, mu = belief.known(values)
    lower = np.tril(belief.C[np.ix_(*2 * [np.sort(arms)])])
    C = lower + np.tril(lower, -1).T
    back = np.argsort(np.argsort(arms))
    return Part(belief.clock, mu[arms], C[np.ix_(back, back)], belief.counts[arms], z[arms] @ belief.clock.L.T)
