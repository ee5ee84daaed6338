"""A Gaussian process over configuration and log-step, updated reading by reading.

======== ================================================================ =========
symbol   meaning                                                          shape
======== ================================================================ =========
X        the configurations whose end is forecast, in the unit cube       (m, d)
l        log step of a reading; l_T that of the last step                 scalar
L        Cholesky factor of the readings' covariance                      (n, n)
V        L⁻¹ k(readings, (X, l_T))                                        (n, m)
u        the readings, as scores                                          (n,)
w        L⁻¹ u                                                            (n,)
σ²       the scale of the process, learned from w in closed form          scalar
======== ================================================================ =========

    k = c² + sc²·kT + M·(s1² + s2²·kT) + [same arm]·(s3² + s4²·exp(−|Δl|/lO)) + sn²·[same reading]

with kT = exp(−Δl²/(2·lT²)) and M a Matérn-5/2 of length ell: a level and a trend that all curves share, a part that
is alike for alike configurations, a part of each curve's own, and noise.

A reading costs O(n² + n·m): L gets a row by one triangular solve, V gets a row by one product. Neither depends on the
values, so these may be given anew at every question, as scores are. A configuration's column of V stays
what it is when its curve is begun: only readings of that curve are of its own, and they come later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from shoestring.models.kernels import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CurvePrior:
    """The parameters of the process. The defaults were fitted to recorded learning curves, as normal scores."""

    level: float = 2.0
    trend: float = 0.914
    alike: float = 0.998
    alike_trend: float = 1.064
    own: float = 0.321
    own_trend: float = 0.261
    noise: float = 0.0366
    shared_length: float = 3.152
    own_length: float = 3.133
    space_length: float = 0.871
    # The scale's prior: as if this many readings had had the scale 1.
    strength: float = 6.0


class CurveProcess:
    """Forecasts of the end of every curve from readings of some; see the table above."""

    def __init__(self, X: Array, last: int, choices: tuple[bool, ...] = (), prior: CurvePrior | None = None) -> None:
        self.prior = prior or CurvePrior()
        self._last = float(np.log(last))
        self._kernel = Kernel("matern52", self.prior.space_length, 1.0, choices)
        self._n = 0
        self._points = X
        self._L = np.zeros((0, 0))
        self._V = np.zeros((0, len(X)))
        self._logs = np.zeros(0)
        self._columns = np.zeros(0, dtype=np.int64)
        # Per curve that was begun, its likeness to every column.
        self._likeness: dict[int, Array] = {}

    def __len__(self) -> int:
        return self._n

    @property
    def prior_variance(self) -> float:
        """Of the end of any curve."""
        p = self.prior
        return p.level**2 + p.trend**2 + p.alike**2 + p.alike_trend**2 + p.own**2 + p.own_trend**2

    def add_column(self, point: Array) -> int:
        """One more configuration to forecast; its number."""
        column = len(self._points)
        v = self.whitened(point[None])[:, 0]
        self._points = np.vstack([self._points, point[None]])
        grown = np.zeros((len(self._V), column + 1))
        grown[:, :column] = self._V
        grown[: self._n, column] = v
        self._V = grown
        near = self._kernel(point[None], self._points)[0]
        self._likeness = {k: np.append(row, near[k]) for k, row in self._likeness.items()}
        return column

    def add(self, column: int, step: int) -> None:
        """A reading of a curve at a step has come in."""
        n, at = self._n, float(np.log(step))
        self._make_room()
        likeness = self._likeness_of(column)
        row = self._across(likeness[self._columns[:n]], at, self._logs[:n], self._columns[:n] == column)
        solved = solve_triangular(self._L[:n, :n], row, lower=True, check_finite=False) if n else row
        self._L[n, :n] = solved
        self._L[n, n] = pivot = np.sqrt(self._variance_of_reading() - solved @ solved)
        same = np.zeros(len(likeness), dtype=bool)
        same[column] = True
        across = self._across(likeness, at, np.array(self._last), same)
        self._V[n] = (across - solved @ self._V[:n]) / pivot
        self._logs[n], self._columns[n] = at, column
        self._n += 1

    def forget(self, n: int) -> None:
        """Take back all readings but the first ``n``."""
        self._n = n

    def whitened(self, points: Array) -> Array:
        """The columns of V for configurations that are not among X. Shape (n, len(points))."""
        n = self._n
        if not n:
            return np.zeros((0, len(points)))
        M = self._kernel(self._points[self._columns[:n]], points)
        same = np.zeros(M.shape, dtype=bool)
        K = self._across(M, self._logs[:n, None], np.array(self._last), same)
        return np.asarray(solve_triangular(self._L[:n, :n], K, lower=True, check_finite=False))

    def explained(self, u: Array) -> tuple[Array, float]:
        """w, and the scale σ² (its posterior mean, given the prior's strength)."""
        n, strength = len(u), self.prior.strength
        if not n:
            return np.zeros(0), 1.0
        w = solve_triangular(self._L[:n, :n], u, lower=True, check_finite=False)
        return w, float((strength + w @ w) / (strength + n))

    def forecast(self, w: Array, scale: float, V: Array | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the end of every curve.

        ``w`` may be shorter than the readings: the others are promised ones, thought of as coming out as
        expected, so they narrow the forecast and do not move it.
        """
        V = self._V[: self._n] if V is None else V
        variance = self.prior_variance - np.einsum("ij,ij->j", V, V)
        return w @ V[: len(w)], np.sqrt(scale * np.maximum(variance, 1e-12))

    def forecast_points(self, w: Array, scale: float, points: Array) -> tuple[Array, Array]:
        """The same for configurations that are not among X."""
        return self.forecast(w, scale, self.whitened(points))

    def covariance(self, columns: Array, others: Array, at: Array) -> Array:
        """The process as it is written above, for tests: between the ends of ``columns`` and readings."""
        M = self._kernel(self._points[columns], self._points[others])
        same = np.asarray(columns)[:, None] == np.asarray(others)[None]
        return self._across(M, np.array(self._last), np.log(at)[None], same)

    def _variance_of_reading(self) -> float:
        return self.prior_variance + self.prior.noise**2

    def _across(self, M: Array, at: Array | float, other: Array, same: NDArray[np.bool_]) -> Array:
        """The covariance of two readings that are not the same one."""
        p, gap = self.prior, np.abs(at - other)
        shared = np.exp(-(gap**2) / (2 * p.shared_length**2))
        own = p.own**2 + p.own_trend**2 * np.exp(-gap / p.own_length)
        everyone = p.level**2 + p.trend**2 * shared
        return np.asarray(everyone + M * (p.alike**2 + p.alike_trend**2 * shared) + same * own)

    def _likeness_of(self, column: int) -> Array:
        if column not in self._likeness:
            self._likeness[column] = self._kernel(self._points[column][None], self._points)[0]
        return self._likeness[column]

    def _make_room(self) -> None:
        n = self._n
        if n < len(self._L):
            return
        size = max(32, 2 * n)
        L, V = np.zeros((size, size)), np.zeros((size, self._V.shape[1]))
        L[:n, :n], V[:n] = self._L[:n, :n], self._V[:n]
        self._L, self._V = L, V
        self._logs = np.append(self._logs[:n], np.zeros(size - n))
        self._columns = np.append(self._columns[:n], np.zeros(size - n, dtype=np.int64))
