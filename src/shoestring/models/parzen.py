"""A Parzen estimator on the unit cube: a mixture of one product kernel per observation and a uniform prior.

====== ============ =====================================================================
n, d   ()           observations and axes
m      ()           points at which the density is asked for
X      (n + 1, d)   the observations; NaN is an inactive coordinate; the last row is the prior
x      (m, d)       the points; NaN is an inactive coordinate
w      (n + 1,)     the weights, which sum to one
h      (d,)         the bandwidth of each axis
k_a    ()           the kernel of axis a: density of x_a around the observation X_ia
T_a    (K, K + 1)   log k_a where an axis has K values: of value, around value
====== ============ =====================================================================

``p(x) = sum_i w_i prod_a k_a(x_a | X_ia)``. On a real axis k_a is a Gaussian cut off at 0 and 1, on
an ordered axis with few values the Gaussian's share of each cell, on an unordered one
``(1 - h) [x_a = X_ia] + h / K``. Around an inactive coordinate k_a is uniform, so the prior is a row of inactive
coordinates. An inactive coordinate of a point adds no factor.

The kernels of all points are computed by one matrix product: ``-(x - X)^2 / 2 h^2`` is linear in ``(x^2, x, 1)``.
Axes with few values are looked up in T_a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoestring._arrays import Array, Codes

# The least probability of a value, which keeps the logarithms finite.
_TINY = 1e-300


def fit(
    points: Array, choices: Codes, edges: Sequence[Array | None], bandwidths: Array, weights: Array, prior: float
) -> Parzen:
    """The estimator around the rows of ``points`` (n, d), with ``weights`` (n,) relative to the weight of the prior.

    ``choices`` (d,) is the number of unordered choices of an axis, 0 for an ordered one; ``edges`` the
    bounds of the cells of an ordered axis with few values, None for all others.
    """
    rows = np.vstack([points, np.full((1, points.shape[1]), np.nan)])
    share = np.append(weights, prior)
    bounds = [np.arange(k + 1) / k if k else edges[axis] for axis, k in enumerate(choices)]
    real = np.flatnonzero([b is None for b in bounds])
    tables = tuple(
        _Table.around(axis, rows[:, axis], b, float(bandwidths[axis]), ordered=not choices[axis])
        for axis, b in enumerate(bounds)
        if b is not None
    )
    return Parzen(share / share.sum(), _Gaussians.around(real, rows[:, real], bandwidths[real]), tables)


@dataclass(frozen=True, eq=False)
class Parzen:
    """The estimator; :func:`fit` makes one."""

    weights: Array
    gaussians: _Gaussians
    tables: tuple[_Table, ...]

    def log_density(self, points: Array) -> Array:
        """log p(x), all axes together. Shape (m, d) to (m,)."""
        kernels = self.gaussians.log_kernels(points)
        for table in self.tables:
            kernels += table.log_kernels(points)
        return _log_mix(kernels, self.weights)

    def log_marginals(self, points: Array) -> Array:
        """The log density of each axis by itself; 0 where inactive. Shape (m, d) to (m, d)."""
        result = np.empty(points.shape)
        for place, axis in enumerate(self.gaussians.axes):
            result[:, axis] = _log_mix(self.gaussians.log_kernels(points, slice(place, place + 1)), self.weights)
        for table in self.tables:
            result[:, table.axis] = _log_mix(table.log_kernels(points), self.weights)
        return result

    def sample(self, rng: np.random.Generator, m: int, together: bool = True) -> Array:
        """Points drawn from p, or from the product of its marginals unless ``together``. Shape (m, d).

        Where an axis has few values the coordinate is the middle of a cell.
        """
        d = len(self.gaussians.axes) + len(self.tables)
        rows = rng.choice(len(self.weights), (m, 1 if together else d), p=self.weights)
        rows, u = np.broadcast_to(rows, (m, d)), rng.random((m, d))
        result = np.empty((m, d))
        result[:, self.gaussians.axes] = self.gaussians.quantiles(u, rows)
        for table in self.tables:
            result[:, table.axis] = table.quantiles(u[:, table.axis], rows[:, table.axis])
        return result


@dataclass(frozen=True, eq=False)
class _Gaussians:
    """The kernels of the real axes: ``log k = z^2 square + z slope + level`` with z = x - 1/2, all (n + 1, r)."""

    axes: Codes
    centres: Array
    bandwidths: Array
    square: Array
    slope: Array
    level: Array

    @classmethod
    def around(cls, axes: Codes, centres: Array, h: Array) -> _Gaussians:
        from scipy.special import ndtr

        active, z = ~np.isnan(centres), centres - 0.5
        inside = ndtr((0.5 - z) / h) - ndtr((-0.5 - z) / h)
        level = -0.5 * (z / h) ** 2 - np.log(inside * h * math.sqrt(2 * math.pi))
        parts = (np.where(active, part, 0.0) for part in (-0.5 / h**2, z / h**2, level))
        return cls(axes, centres, h, *parts)

    def log_kernels(self, points: Array, which: slice = slice(None)) -> Array:
        """The sum over the axes of log k_a. Shape (m, d) to (m, n + 1)."""
        z = points[:, self.axes[which]] - 0.5
        active = ~np.isnan(z)
        z = np.where(active, z, 0.0)
        square, slope, level = (part[:, which] for part in (self.square, self.slope, self.level))
        result: Array = np.hstack([z**2, z]) @ np.hstack([square, slope]).T
        result += level.sum(axis=1) if active.all() else active.astype(float) @ level.T
        return result

    def quantiles(self, u: Array, rows: Codes) -> Array:
        """The points below which a share ``u`` of the kernels of ``rows`` lies; both (m, d), to (m, r)."""
        from scipy.special import ndtr, ndtri

        u, h = u[:, self.axes], self.bandwidths
        centres = self.centres[rows[:, self.axes], np.arange(len(self.axes))]
        low, high = ndtr((0.0 - centres) / h), ndtr((1.0 - centres) / h)
        drawn = np.clip(centres + h * ndtri(low + u * (high - low)), 0.0, 1.0)
        return np.where(np.isnan(centres), u, drawn)


@dataclass(frozen=True, eq=False)
class _Table:
    """The kernels of an axis with K values: ``log[x, X]``, (K + 1, K + 1), the last row and column inactive."""

    axis: int
    bounds: Array
    values: Codes
    log: Array

    @classmethod
    def around(cls, axis: int, centres: Array, bounds: Array, h: float, ordered: bool) -> _Table:
        widths = np.diff(bounds)
        shares = _cell_shares(bounds, h) if ordered else (1 - h) * np.eye(len(widths)) + h * widths
        log = np.zeros((len(widths) + 1, len(widths) + 1))
        log[:-1, :-1] = np.log(np.maximum(shares, _TINY))
        log[:-1, -1] = np.log(widths)
        return cls(axis, bounds, _value(centres, bounds), log)

    def log_kernels(self, points: Array) -> Array:
        """log k_a. Shape (m, d) to (m, n + 1)."""
        found = self.log[_value(points[:, self.axis], self.bounds)]
        return found.take(self.values, axis=1)

    def quantiles(self, u: Array, rows: Codes) -> Array:
        """The middle of the value that holds the quantile ``u`` of the kernels of ``rows``; all (m,)."""
        cumulated = np.exp(self.log[:-1, self.values[rows]]).cumsum(axis=0)
        value: Codes = (cumulated[:-1] <= u * cumulated[-1]).sum(axis=0)
        return _middles(self.bounds)[value]


def _cell_shares(bounds: Array, h: float) -> Array:
    """The share of each cell in a Gaussian around the middle of each other, cut off at 0 and 1. Shape (K, K)."""
    from scipy.special import ndtr

    middles = _middles(bounds)
    shares = np.diff(ndtr((bounds[:, None] - middles) / h), axis=0)
    return np.asarray(shares / shares.sum(axis=0))


def _middles(bounds: Array) -> Array:
    middles: Array = (bounds[1:] + bounds[:-1]) / 2
    return middles


def _value(x: Array, bounds: Array) -> Codes:
    """The index of a coordinate's value; K where it is inactive."""
    k = len(bounds) - 1
    return np.where(np.isnan(x), k, np.clip(np.searchsorted(bounds, x, side="right") - 1, 0, k - 1))


def _log_mix(kernels: Array, weights: Array) -> Array:
    """log sum_i w_i exp(kernel_i) by rows; overwrites the kernels. Shape (m, n + 1) to (m,)."""
    top = kernels.max(axis=1)
    kernels -= top[:, None]
    np.exp(kernels, out=kernels)
    return np.asarray(np.log(kernels @ weights) + top)
