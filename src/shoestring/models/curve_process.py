"""A Gaussian process over configuration and log-step, updated reading by reading.

======== ================================================================ =========
symbol   meaning                                                          shape
======== ================================================================ =========
X        the configurations whose end is forecast, in the unit cube       (m, d)
l        log step of a reading; l_T is the last step's                   scalar
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
independent at any distance, a copy of the best configuration would always look as promising as that one once did.
The rows of a table have no close neighbours, and N is 1 for the same row and 0 for any other.

A reading costs O(n² + n·m): R and V get one row each. Neither depends on the values, so these can change from one
forecast to the next, as scores do.

Every ``_BLOCK`` readings, the rows of these are computed again from what was given, all at once. Products of matrices
take a fraction of the time of as many products with vectors, so a process that is given a thousand readings before its
first forecast computes whole blocks and only the readings after the last one row by row. Which readings are in a block
follows from their number alone, so the rounding does not depend on when forecasts were asked for.

Readings that are expected from running trials only reduce the deviations (``expected_readings.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from shoestring._arrays import Array, enlarge
from shoestring.models.expected_readings import ExpectedReadings
from shoestring.models.kernels import Kernel, matern52

# Readings whose rows of R and V are computed at once. The readings after the last block are taken in one by one, so
# with larger blocks a process that is rebuilt takes longer.
_BLOCK = 64


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


class _Awaited(NamedTuple):
    """A reading that is expected at a log step of a curve, which need not be among the columns."""

    at: float
    column: int | None
    point: Array


class _Block(NamedTuple):
    """The numbers of readings and columns when a block was full, and the forecasts then."""

    readings: int
    columns: int
    awaited: dict[Hashable, _Awaited]


class CurveProcess:
    """Forecasts of the end of every curve from readings of some; see the table above."""

    prior = CurvePrior()

    def __init__(self, X: Array, last: int, choices: tuple[bool, ...] = (), is_table: bool = False) -> None:
        self._is_table = is_table
        self._last = float(np.log(last))
        self._kernel = Kernel("matern52", self.prior.space_length, 1.0, choices)
        # The input: columns, readings (their log steps and columns), and by key the expected ones.
        self._points = X
        self._given = 0
        self._logs, self._columns = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._awaited: dict[Hashable, _Awaited] = {}
        # Work that is left: the full blocks, and the input after the last one.
        self._full: list[_Block] = []
        self._waiting: list[Callable[[], None]] = []
        # The results, for n readings and m columns; the buffers have room for more.
        self._n, self._m, self._block = 0, len(X), _Block(0, len(X), {})
        self._R, self._V = np.zeros((0, 0)), np.zeros((0, len(X)))
        self._explained = np.zeros(len(X))  # the sum of squares of each column of V
        self._expected = ExpectedReadings(X.shape[1], len(X))
        # Per curve with readings since the last block, M and N between it and every column. Shape (2, m).
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
        self._points = np.vstack([self._points, point[None]])
        self._waiting.append(partial(self._take_column, point))
        return len(self._points) - 1

    def add(self, column: int, step: int, expected: Hashable | None = None) -> None:
        """Add a reading of a curve at a step. With the key of a reading that was expected there, half is done."""
        n = self._given
        if n == len(self._logs):
            self._logs, self._columns = (enlarge(each, max(_BLOCK, 2 * n)) for each in (self._logs, self._columns))
        self._logs[n], self._columns[n] = np.log(step), column
        self._given += 1
        self._awaited.pop(expected, None)
        self._waiting.append(partial(self._take_reading, expected))
        if self._given % _BLOCK == 0:
            self._waiting.clear()
            self._full.append(_Block(self._given, len(self._points), dict(self._awaited)))

    def expect(self, key: Hashable, step: int, column: int | None, point: Array) -> None:
        """Impute a reading at a step of a curve, which need not be among the columns, until ``forget``."""
        self._awaited[key] = _Awaited(float(np.log(step)), column, point)
        self._waiting.append(partial(self._take_expected, key, self._awaited[key]))

    def forget(self, key: Hashable) -> None:
        if self._awaited.pop(key, None) is not None:
            self._waiting.append(partial(self._drop_expected, key))

    def _catch_up(self) -> None:
        """Compute what was given since the last forecast."""
        for block in self._full:
            self._take_block(block)
        if self._full:
            self._full.clear()
            V = self._V[: self._n, : self._m]
            self._explained = np.einsum("ij,ij->j", V, V)
            self._similarity.clear()
            self._expected = ExpectedReadings(self._points.shape[1], self._m)
            self._take_all_expected(self._block.awaited)
        for take in self._waiting:
            take()
        self._waiting.clear()

    def _take_block(self, block: _Block) -> None:
        """Compute the rows of a whole block in R and V, and the columns of V that were added since the last block."""
        n, end, m = self._block.readings, block.readings, block.columns
        new = slice(self._block.columns, m)
        self._n, self._m, self._block = n, m, block
        self._make_room(end)
        R, V = self._R[:n, :n], self._V[:n, :m]
        V[:, new] = self._columns_of(self._points[new], self._last)
        rows, logs = slice(n, end), self._logs[n:end]
        similarity = self._similar(self._points[self._columns[rows]], self._points[:m])
        K = self._covariance(similarity[:, :, self._columns[:end]], logs[:, None], self._logs[:end])
        solved = K[:, :n] @ R.T  # the new rows of L, but for their last square
        square = K[:, n:] - solved @ solved.T
        square[np.diag_indices_from(square)] += self.noise_variance(logs)
        inverse = np.tril(np.linalg.inv(np.linalg.cholesky(square)))
        to_ends = self._covariance(similarity, logs[:, None], np.array(self._last))
        self._R[rows, :n], self._R[rows, rows] = -inverse @ (solved @ R), inverse
        self._V[rows, :m] = inverse @ (to_ends - solved @ V)
        self._n = end

    def _take_all_expected(self, awaited: dict[Hashable, _Awaited]) -> None:
        if not awaited:
            return
        at = np.array([each.at for each in awaited.values()])
        points = np.array([each.point for each in awaited.values()])
        similarity = self._similar(points, self._points[: self._m])
        solved, to_ends = self._solve(similarity, at[:, None])
        for i, (key, each) in enumerate(awaited.items()):
            self._expected.add(key, each.at, each.point, similarity[:, i], solved[i], to_ends[i])
            self._relate(each)

    def _take_column(self, point: Array) -> None:
        v = self._columns_of(point[None], self._last)[:, 0]
        column = self._m
        self._m += 1
        self._make_room(self._n)
        self._V[: self._n, column], self._explained = v, np.append(self._explained, v @ v)
        near = self._similar(point[None], self._points[: self._m])[:, 0]
        self._similarity = {k: np.hstack([rows, near[:, [k]]]) for k, rows in self._similarity.items()}
        similarity = self._similar(point[None], self._expected.points)[:, 0]
        to_end = self._covariance(similarity, self._expected.at, np.array(self._last))
        self._expected.add_column(similarity, to_end, v)

    def _take_reading(self, expected: Hashable | None) -> None:
        n, m = self._n, self._m
        self._make_room(n + 1)
        column, at = int(self._columns[n]), float(self._logs[n])
        if expected in self._expected.keys:
            solved, to_ends = self._expected.pop(expected, n)
        else:
            solved, to_ends = self._solve(self._similarity_of(column), at)
        # ``solved`` is the new row of L, but for its last entry.
        pivot = np.sqrt(self.prior_variance + self.noise_variance(at) - solved @ solved)
        self._R[n, :n] = -(solved @ self._R[:n, :n]) / pivot
        self._R[n, n] = 1 / pivot
        self._V[n, :m] = to_ends / pivot
        self._explained = self._explained + self._V[n, :m] ** 2
        self._n += 1
        if self._expected:
            similarity = np.array([one[:, column] for one in self._expected.similarity]).T
            self._expected.take_in(
                self._covariance(similarity, self._expected.at, np.array(at)), solved, float(pivot), self._V[n, :m]
            )

    def _take_expected(self, key: Hashable, one: _Awaited) -> None:
        if one.column is None:
            similarity = self._similar(one.point[None], self._points[: self._m])[:, 0]
        else:
            similarity = self._similarity_of(one.column)
        self._expected.add(key, one.at, one.point, similarity, *self._solve(similarity, one.at))
        self._relate(one)

    def _drop_expected(self, key: Hashable) -> None:
        self._expected.pop(key, self._n)

    def _relate(self, one: _Awaited) -> None:
        """Relate the reading that became expected last to those before it."""
        similarity = self._similar(one.point[None], self._expected.points)[:, 0]
        self._expected.relate(self._covariance(similarity, one.at, self._expected.at), self._n)

    def without_expected(self) -> CurveProcess:
        """The process without the readings that are expected, for forecasts only."""
        self._catch_up()
        twin = copy(self)
        twin._expected = ExpectedReadings(self._points.shape[1], len(self._points))  # noqa: SLF001  a copy of our own class
        return twin

    def _similarity_of(self, column: int) -> Array:
        if column not in self._similarity:
            self._similarity[column] = self._similar(self._points[column][None], self._points[: self._m])[:, 0]
        return self._similarity[column]

    def _solve(self, similarity: Array, at: Array | float) -> tuple[Array, Array]:
        """R k(readings, p) of a reading p, and its covariance with the ends given the readings. Shapes (n,), (m,).

        For several, at (k, 1), the shapes are (k, n) and (k, m).
        """
        n = self._n
        row = self._covariance(similarity[..., self._columns[:n]], at, self._logs[:n])
        solved = row @ self._R[:n, :n].T
        to_ends = self._covariance(similarity, at, np.array(self._last))
        return solved, np.asarray(to_ends - solved @ self._V[:n, : self._m])

    def whiten(self, u: Array) -> tuple[Array, float]:
        """w, and the scale σ² (its posterior mean, given the prior's strength)."""
        self._catch_up()
        n, strength = len(u), self.prior.strength
        w = self._R[:n, :n] @ u
        return w, float((strength + w @ w) / (strength + n))

    def means(self, w: Array) -> Array:
        """Of the end of every curve."""
        self._catch_up()
        return np.asarray(w @ self._V[: len(w), : self._m])

    def deviations(self, scale: float) -> Array:
        """The standard deviation of the end of every curve."""
        self._catch_up()
        explained = self._explained
        if self._expected:
            explained = explained + self._expected.explained_variance(self.noise_variance(self._expected.at))
        return self._deviation(scale, explained)

    def forecast_points(self, w: Array, scale: float, points: Array, step: int | None = None) -> tuple[Array, Array]:
        """Both for configurations that need not be among X, and at a step that need not be the last."""
        self._catch_up()
        log_step = self._last if step is None else float(np.log(step))
        V = self._columns_of(points, log_step)
        explained = np.einsum("ij,ij->j", V, V)
        if self._expected:
            similarity = self._similar(self._expected.points, points)
            K = self._covariance(similarity, self._expected.at[:, None], np.array(log_step))
            explained += self._expected.explained_variance_elsewhere(self.noise_variance(self._expected.at), K, V)
        return w @ V[: len(w)], self._deviation(scale, explained)

    def _columns_of(self, points: Array, at: float) -> Array:
        """The columns of V for any configurations, at a log step. Shape (n, len(points))."""
        n = self._n
        K = self._covariance(self._similar(self._points[self._columns[:n]], points), self._logs[:n, None], np.array(at))
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

    def _make_room(self, readings: int) -> None:
        """Make room for this many readings and for the present columns. The sizes do not depend on how they were
        reached.
        """
        high, wide = self._V.shape
        while high < readings:
            high = max(32, 2 * high)
        while wide < self._m:
            wide += wide // 4 + 32
        if (high, wide) != self._V.shape:
            self._R, self._V = enlarge(self._R, high, high), enlarge(self._V, high, wide)
