"""A Gaussian process over configuration and log-step, updated reading by reading.

======== ================================================================ =========
symbol   meaning                                                          shape
======== ================================================================ =========
X        the configurations whose end is forecast, in the unit cube       (m, d)
l        log step of a reading; l_T that of the last step                 scalar
L        Cholesky factor of the readings' covariance                      (n, n)
R        L⁻¹                                                              (n, n)
V        R k(readings, (X, l_T))                                          (n, m)
u        the readings, as scores                                          (n,)
w        R u                                                              (n,)
σ²       the scale of the process, learned from w in closed form          scalar
======== ================================================================ =========

    k = c² + sc²·kT + M·(s1² + s2²·kT) + [same arm]·(s3² + s4²·exp(−|Δl|/lO)) + sn²·[same reading]

with kT = exp(−Δl²/(2·lT²)) and M a Matérn-5/2 of length ell: a level and a trend that all curves share, a part that
is alike for alike configurations, a part of each curve's own, and noise.

A reading costs O(n² + n·m): R and V get a row each, by products with what is there. Neither depends on the values, so
these may be given anew at every question, as scores are. A configuration's column of V stays
what it is when its curve is begun: only readings of that curve are of its own, and they come later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoestring.models.kernels import Kernel

Array = NDArray[np.float64]

# The column of a reading whose configuration is not among X.
_OUTSIDE = -1


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
        self._R = np.zeros((0, 0))
        self._V = np.zeros((0, len(X)))
        self._explained = np.zeros(len(X))  # the sum of squares of each column of V
        self._logs = np.zeros(0)
        self._columns = np.zeros(0, dtype=np.int64)
        self._at = np.zeros((0, X.shape[1]))
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
        self._V, self._explained = grown, np.append(self._explained, v @ v)
        near = self._kernel(point[None], self._points)[0]
        self._likeness = {k: np.append(row, near[k]) for k, row in self._likeness.items()}
        return column

    def add(self, column: int, step: int) -> None:
        """A reading of a curve at a step has come in."""
        if column not in self._likeness:
            self._likeness[column] = self._kernel(self._points[column][None], self._points)[0]
        self._append(self._points[column], self._likeness[column], column, step)

    def add_outside(self, point: Array, step: int) -> None:
        """A reading of a curve that is not among the columns; no other reading of it may be there."""
        self._append(point, self._kernel(point[None], self._points)[0], _OUTSIDE, step)

    def _append(self, point: Array, likeness: Array, column: int, step: int) -> None:
        self._make_room()
        n, at, columns = self._n, float(np.log(step)), self._columns[: self._n]
        near, outside = likeness[columns], columns == _OUTSIDE
        if outside.any():
            near[outside] = self._kernel(point[None], self._at[:n][outside])[0]
        row = self._across(near, at, self._logs[:n], (columns == column) & ~outside)
        solved = self._R[:n, :n] @ row  # the new row of L, but for its last entry
        pivot = np.sqrt(self.prior_variance + self.prior.noise**2 - solved @ solved)
        self._R[n, :n] = -(solved @ self._R[:n, :n]) / pivot
        self._R[n, n] = 1 / pivot
        across = self._across(likeness, at, np.array(self._last), np.arange(len(likeness)) == column)
        self._V[n] = (across - solved @ self._V[:n]) / pivot
        self._explained = self._explained + self._V[n] ** 2
        self._logs[n], self._columns[n], self._at[n] = at, column, point
        self._n += 1

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Readings added within are taken back at the end."""
        n, explained = self._n, self._explained
        try:
            yield
        finally:
            self._n, self._explained = n, explained

    def whitened(self, points: Array) -> Array:
        """The columns of V for configurations that are not among X. Shape (n, len(points))."""
        n = self._n
        if not n:
            return np.zeros((0, len(points)))
        M = self._kernel(self._at[:n], points)
        same = np.zeros(M.shape, dtype=bool)
        K = self._across(M, self._logs[:n, None], np.array(self._last), same)
        return np.asarray(self._R[:n, :n] @ K)

    def explained(self, u: Array) -> tuple[Array, float]:
        """w, and the scale σ² (its posterior mean, given the prior's strength)."""
        n, strength = len(u), self.prior.strength
        if not n:
            return np.zeros(0), 1.0
        w = self._R[:n, :n] @ u
        return w, float((strength + w @ w) / (strength + n))

    def forecast(self, w: Array, scale: float) -> tuple[Array, Array]:
        """Mean and standard deviation of the end of every curve.

        ``w`` may be shorter than the readings: the others are promised ones, thought of as coming out as
        expected, so they narrow the forecast and do not move it.
        """
        return w @ self._V[: len(w)], self._deviation(scale, self._explained)

    def forecast_points(self, w: Array, scale: float, points: Array) -> tuple[Array, Array]:
        """The same for configurations that are not among X."""
        V = self.whitened(points)
        return w @ V[: len(w)], self._deviation(scale, np.einsum("ij,ij->j", V, V))

    def _deviation(self, scale: float, explained: Array) -> Array:
        return np.sqrt(scale * np.maximum(self.prior_variance - explained, 1e-12))

    def _across(self, M: Array, at: Array | float, other: Array, same: NDArray[np.bool_]) -> Array:
        """The covariance of two readings that are not the same one."""
        p, gap = self.prior, np.abs(at - other)
        shared = np.exp(-(gap**2) / (2 * p.shared_length**2))
        own = p.own**2 + p.own_trend**2 * np.exp(-gap / p.own_length)
        everyone = p.level**2 + p.trend**2 * shared
        return np.asarray(everyone + M * (p.alike**2 + p.alike_trend**2 * shared) + same * own)

    def _make_room(self) -> None:
        n = self._n
        if n < len(self._R):
            return
        size = max(32, 2 * n)
        R, V = np.zeros((size, size)), np.zeros((size, self._V.shape[1]))
        R[:n, :n], V[:n] = self._R[:n, :n], self._V[:n]
        self._R, self._V = R, V
        self._logs = np.append(self._logs[:n], np.zeros(size - n))
        self._columns = np.append(self._columns[:n], np.zeros(size - n, dtype=np.int64))
        self._at = np.vstack([self._at[:n], np.zeros((size - n, self._at.shape[1]))])
