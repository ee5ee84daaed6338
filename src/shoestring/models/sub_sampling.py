"""The arithmetic of sub-sampling: which arms have potential, and how much.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, section 4 (the relation c_k ≼ c_ζ) and section 7 (the criterion V_k).

========  =====================================================================
Y, w      an arm's observations in order, and their weights      (n_k,)
n_k, n    observations of one arm; of all arms
q_n       √log n: an arm with fewer observations is explored anyway
ζ         the leader: the arm with the most observations, then the lowest mean
β         how much an unexplored arm is preferred, in units of ``scale``
========  =====================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoestring._arrays import Array

Vector = Array

_ROUNDING = 1e-11


def threshold(n: int) -> float:
    """q_n = √log n, the paper's choice in section 8.1.

    >>> from shoestring.models.sub_sampling import threshold
    >>> round(threshold(28), 3)
    1.825
    """
    return math.sqrt(math.log(n)) if n > 1 else 0.0


class Series:
    """Observations in order, kept as running sums, so that the mean of any window is a quick difference.

    The sums are the same whether the observations are added one by one or many at once.

    >>> from shoestring.models.sub_sampling import Series
    >>> series = Series([1.0, 2.0, 6.0])
    >>> series.mean(), series.window_means(2)
    (3.0, array([1.5, 4. ]))
    """

    def __init__(self, values: Sequence[float] | Vector = ()) -> None:
        self._sums = np.zeros((2, 8))  # of weight × value, and of the weights; both start with 0
        self._n = 0
        self.extend(values)

    def __len__(self) -> int:
        return self._n

    def extend(self, values: Sequence[float] | Vector, weights: Sequence[float] | float = 1.0) -> None:
        first, n = self._n, self._n + len(values)
        if n + 1 > self._sums.shape[1]:
            grown = np.zeros((2, max(n + 1, 2 * self._sums.shape[1])))
            grown[:, : first + 1] = self._sums[:, : first + 1]
            self._sums = grown
        new = self._sums[:, first : n + 1]
        new[1, 1:] = weights
        new[0, 1:] = new[1, 1:] * values
        np.cumsum(new, axis=1, out=new)
        self._n = n

    def mean(self) -> float:
        """Ȳ_{1:n}."""
        total, mass = self._sums[:, self._n]
        return float(total / mass)

    def window_means(self, length: int) -> Vector:
        """Weighted means of all windows of ``length`` consecutive observations (n − length + 1,)."""
        ends, starts = self._sums[:, length : self._n + 1], self._sums[:, : self._n + 1 - length]
        total, mass = ends - starts
        return np.asarray(total / mass)

    def largest_window_mean(self, length: int) -> float:
        """max_j Ȳ_{j:j+length−1}: the mean of the leader's worst window, or of all of them if there are fewer."""
        return float(self.window_means(min(length, self._n)).max())


def has_potential(own_count: int, own_mean: float, leader_count: int, leaders_worst: float, q: float) -> bool:
    """c_k ≼ c_ζ: fewer observations, and (a) too few to judge or (b) no worse than the leader's worst window.

    Means that differ only by rounding count as equal, because window means are differences of running sums.
    """
    rounding = _ROUNDING * max(abs(own_mean), abs(leaders_worst))
    return own_count < leader_count and (own_count < q or own_mean <= leaders_worst + rounding)


def potential(own_count: int, own_mean: float, leaders_worst: float, q: float, beta: float, scale: float) -> float:
    """V_k = (Ȳ_k − max_j Ȳ_ζ) / scale − β·max(0, q_n − n_k); lower has more potential (section 7).

    Differs from the paper in the division by a scale of the losses, so that one β fits all problems.
    """
    return (own_mean - leaders_worst) / scale - beta * max(0.0, q - own_count)


def spread(values: Vector) -> float:
    """The interquartile range of the finite losses; 1 where it is 0 or there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 1.0
    low, high = np.percentile(finite, [25, 75])
    return float(high - low) or 1.0
