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

    k = c² + sc²·kT + M·(s1² + s2²·kT) + N·(s3² + s4²·exp(−|Δl|/lO)) + sn²·[same reading]

with kT = exp(−Δl²/(2·lT²)), M a Matérn-5/2 of length ell and N a much shorter one: a level and a trend that all curves
share, a part that is similar for similar configurations, a part of each curve's own, and noise. If the own part were
independent at any distance, a copy of the best configuration would look as promising as that one once did, for ever.
The rows of a table have no close neighbours, and N is 1 for the same row and 0 for any other.

A reading costs O(n² + n·m): R and V get one row each. Neither depends on the values, so these can change from one
forecast to the next, as scores do.

Readings that are expected from running trials only reduce the deviations (``expected_readings.py``).
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass

import numpy as np

from shoestring._arrays import Array, enlarged
from shoestring.models.expected_readings import ExpectedReadings
from shoestring.models.kernels import Kernel, matern52


@dataclass(frozen=True)
class CurvePrior:
    """The parameters of the process. The defaults were fitted to recorded learning curves, as normal scores.

    Only ``space_length`` (fitted: .871) and ``near_length`` were chosen by how well studies went.
    """

    level: float = 2.0
    trend: float = 0.914
    alike: float = 0.998
    alike_trend: float = 1.064
    own: float = 0.321
    own_trend: float = 0.261
    noise: float = 0.0366
    shared_length: float = 3.152
    own_length: float = 3.133
    space_length: float = 0.65
    near_length: float = 0.15
    # The prior of the scale weighs as much as this many readings of scale 1.
    strength: float = 6.0


class CurveProcess:
    """Forecasts of the end of every curve from readings of some; see the table above."""

    prior = CurvePrior()

    def __init__(self, X: Array, last: int, choices: tuple[bool, ...] = (), is_table: bool = False) -> None:
        self._is_table = is_table
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
        self._expected = ExpectedReadings(X.shape[1], len(X))
        # Per curve with readings, M and N between it and every column. Shape (2, m).
        self._similarity: dict[int, Array] = {}

    @property
    def prior_variance(self) -> float:
        """Of the end of any curve."""
        p = self.prior
        return p.level**2 + p.trend**2 + p.alike**2 + p.alike_trend**2 + p.own**2 + p.own_trend**2

    def noise_variance(self, log_step: Array | float) -> Array:
        """Of readings at these log steps, relative to the scale: sn², for early and late ones alike."""
        return np.full(np.shape(log_step), self.prior.noise**2)

    def add_column(self, point: Array) -> int:
        """Add a configuration to forecast; returns its column."""
        column = len(self._points)
        v = self._columns_of(point[None], self._last)[:, 0]
        self._points = np.vstack([self._points, point[None]])
        self._V, self._explained = enlarged(self._V, len(self._V), column + 1), np.append(self._explained, v @ v)
        self._V[: self._n, column] = v
        near = self._similar(point[None], self._points)[:, 0]
        self._similarity = {k: np.hstack([rows, near[:, [k]]]) for k, rows in self._similarity.items()}
        similarity = self._similar(point[None], self._expected.points)[:, 0]
        to_end = self._covariance(similarity, self._expected.at, np.array(self._last))
        self._expected.add_column(similarity, to_end, v)
        return column

    def add(self, column: int, step: int, expected: Hashable | None = None) -> None:
        """Add a reading of a curve at a step. With the key of a reading that was expected there, half is done."""
        self._make_room()
        n, at = self._n, float(np.log(step))
        if expected in self._expected.keys:
            solved, to_ends = self._expected.pop(expected, n)
        else:
            solved, to_ends = self._solved(self._similarity_of(column), at)
        # ``solved`` is the new row of L, but for its last entry.
        pivot = np.sqrt(self.prior_variance + self.noise_variance(at) - solved @ solved)
        self._R[n, :n] = -(solved @ self._R[:n, :n]) / pivot
        self._R[n, n] = 1 / pivot
        self._V[n] = to_ends / pivot
        self._explained = self._explained + self._V[n] ** 2
        self._logs[n], self._columns[n], self._at[n] = at, column, self._points[column]
        self._n += 1
        if self._expected:
            similarity = np.array([one[:, column] for one in self._expected.similarity]).T
            self._expected.take_in(
                self._covariance(similarity, self._expected.at, np.array(at)), solved, float(pivot), self._V[n]
            )

    def expect(self, key: Hashable, step: int, column: int | None, point: Array) -> None:
        """Impute a reading at a step of a curve, which need not be among the columns, until ``forget``."""
        similarity = self._similar(point[None], self._points)[:, 0] if column is None else self._similarity_of(column)
        at = float(np.log(step))
        expected = self._expected
        expected.add(key, at, point, similarity, *self._solved(similarity, at))
        with_all = self._similar(point[None], expected.points)[:, 0]
        expected.relate(self._covariance(with_all, at, expected.at), self._n)

    def forget(self, key: Hashable) -> None:
        if key in self._expected.keys:
            self._expected.pop(key, self._n)

    def observed(self) -> CurveProcess:
        """The process without the readings that are expected, for forecasts only."""
        twin = copy(self)
        twin._expected = ExpectedReadings(self._points.shape[1], len(self._points))  # noqa: SLF001  a copy of our own class
        return twin

    def _similarity_of(self, column: int) -> Array:
        if column not in self._similarity:
            self._similarity[column] = self._similar(self._points[column][None], self._points)[:, 0]
        return self._similarity[column]

    def _solved(self, similarity: Array, at: float) -> tuple[Array, Array]:
        """R k(readings, p) of a reading p, and its covariance with the ends given the readings. Shapes (n,), (m,)."""
        n = self._n
        row = self._covariance(similarity[:, self._columns[:n]], at, self._logs[:n])
        solved = self._R[:n, :n] @ row
        to_ends = self._covariance(similarity, at, np.array(self._last))
        return solved, np.asarray(to_ends - solved @ self._V[:n])

    def whiten(self, u: Array) -> tuple[Array, float]:
        """w, and the scale σ² (its posterior mean, given the prior's strength)."""
        n, strength = len(u), self.prior.strength
        w = self._R[:n, :n] @ u
        return w, float((strength + w @ w) / (strength + n))

    def means(self, w: Array) -> Array:
        """Of the end of every curve."""
        return np.asarray(w @ self._V[: len(w)])

    def deviations(self, scale: float) -> Array:
        """The standard deviation of the end of every curve."""
        explained = self._explained
        if self._expected:
            explained = explained + self._expected.explained(self.noise_variance(self._expected.at))
        return self._deviation(scale, explained)

    def forecast_points(self, w: Array, scale: float, points: Array, step: int | None = None) -> tuple[Array, Array]:
        """Both for configurations that need not be among X, and at a step that need not be the last."""
        log_step = self._last if step is None else float(np.log(step))
        V = self._columns_of(points, log_step)
        explained = np.einsum("ij,ij->j", V, V)
        if self._expected:
            similarity = self._similar(self._expected.points, points)
            K = self._covariance(similarity, self._expected.at[:, None], np.array(log_step))
            explained += self._expected.explained_elsewhere(self.noise_variance(self._expected.at), K, V)
        return w @ V[: len(w)], self._deviation(scale, explained)

    def _columns_of(self, points: Array, at: float) -> Array:
        """The columns of V for any configurations, at a log step. Shape (n, len(points))."""
        n = self._n
        K = self._covariance(self._similar(self._at[:n], points), self._logs[:n, None], np.array(at))
        return np.asarray(self._R[:n, :n] @ K)

    def _deviation(self, scale: float, explained: Array) -> Array:
        return np.sqrt(scale * np.maximum(self.prior_variance - explained, 1e-12))

    def _similar(self, A: Array, B: Array) -> Array:
        """M and N between points. Shape (2, len(A), len(B))."""
        r = self._kernel.distance(A, B)
        N = r == 0.0 if self._is_table else matern52(r * (self.prior.space_length / self.prior.near_length))[0]
        return np.stack([self._kernel.at(r), N])

    def _covariance(self, similarity: Array, at: Array | float, other: Array) -> Array:
        """The covariance of two different readings, from M and N."""
        p, gap = self.prior, np.abs(at - other)
        shared = np.exp(-(gap**2) / (2 * p.shared_length**2))
        own = p.own**2 + p.own_trend**2 * np.exp(-gap / p.own_length)
        everyone = p.level**2 + p.trend**2 * shared
        M, N = similarity
        return np.asarray(everyone + M * (p.alike**2 + p.alike_trend**2 * shared) + N * own)

    def _make_room(self) -> None:
        n = self._n
        if n < len(self._R):
            return
        size = max(32, 2 * n)
        self._R, self._V = enlarged(self._R, size, size), enlarged(self._V, size, self._V.shape[1])
        self._logs, self._columns = enlarged(self._logs, size), enlarged(self._columns, size)
        self._at = enlarged(self._at, size, self._at.shape[1])
