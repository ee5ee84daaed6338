"""Points to choose from, and how to better them: designs, neighbours, and climbing a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.history import History
from shoestring.core.untried import free_rows, tried
from shoestring.spaces.axes import Axis
from shoestring.spaces.codec import Codec

if TYPE_CHECKING:
    from shoestring.models.embedding import Embedding

Array = NDArray[np.float64]

# A table with more free rows than this is looked at in part.
_MOST_ROWS = 2000
# An ordered axis with at most this many values is tried at all of them, others at the next values.
_FEW = 6


def embedding(history: History) -> Embedding:
    """How the axes of a study become columns for models."""

    def make() -> Embedding:

        from shoestring.models.embedding import Embedding

        codec = history.codec
        optional = [bool(codec.space.parent_conditions_of[name]) for name in codec.names]
        return Embedding(codec.choices, np.array(optional, dtype=bool))

    return history.cached("embedding", make)


def snapped(points: Array, codec: Codec) -> Array:
    """The points that configurations stand at: the middle of a value's cell, NaN where inactive. Shape (m, d)."""
    if codec.space.conditions:
        return np.array([codec.encode(codec.decode(point)) for point in points]).reshape(points.shape)
    result = np.clip(points, 0.0, 1.0)
    for j, axis in enumerate(codec.axes):
        own: Any = codec.space[axis.name]
        if axis.cells and getattr(own, "log", False):
            result[:, j] = [axis.encode(axis.decode(float(u))) for u in result[:, j]]
        elif axis.cells:
            result[:, j] = (np.minimum(np.floor(result[:, j] * axis.cells), axis.cells - 1) + 0.5) / axis.cells
    return result


def latin(rng: np.random.Generator, m: int, d: int) -> Array:
    """A Latin hypercube: one of m points in every slice of each axis. Shape (m, d)."""
    slices = np.empty((m, d))
    for j in range(d):
        slices[:, j] = rng.permutation(m)
    return (slices + rng.random((m, d))) / max(m, 1)


def uniform(history: History, rng: np.random.Generator, m: int) -> Array:
    """Points by the space's own priors. Shape (m, d)."""
    codec = history.codec
    if any(axis.prior for axis in codec.axes):
        return np.array([codec.sample_point(rng) for _ in range(m)]).reshape(m, codec.dimensions)
    return rng.random((m, codec.dimensions))


def around(centres: Array, rng: np.random.Generator, m: int, codec: Codec) -> Array:
    """Points near some of the known ones: on a few axes a step of any size up to a fifth, or another choice."""
    d = codec.dimensions
    points = centres[rng.integers(len(centres), size=m)].copy()
    move = rng.random((m, d)) < max(1 / d, min(0.5, 2 / d))
    move[np.arange(m), rng.integers(d, size=m)] = True
    # Sizes are spread evenly over magnitudes: what matters may be narrow.
    size = 0.2 * 10 ** (-2 * rng.random((m, d)))
    cells = np.where(codec.cells > 0, 1 / np.maximum(codec.cells, 1), 0.0)
    step = np.maximum(size, cells) * rng.standard_normal((m, d))
    fresh = rng.random((m, d))
    near = np.where(np.isnan(points), fresh, points + step)
    moved = np.where(codec.choices > 0, fresh, near)
    filled = np.where(np.isnan(points), fresh, points)
    return _reflected(np.where(move, moved, filled))


def _reflected(points: Array) -> Array:
    """A point that left the cube comes back by as much."""
    folded = np.abs(points) % 2.0
    return np.where(folded > 1, 2 - folded, folded)


def open_points(history: History, rng: np.random.Generator) -> Array | None:
    """On a table, the rows that are still free; None elsewhere."""
    codec = history.codec
    if codec.rows is None:
        return None
    free = free_rows(history).nonzero()[0]
    if len(free) > _MOST_ROWS:
        free = free[rng.permutation(len(free))[:_MOST_ROWS]]
    return codec.row_points[free]


Score = Callable[["Array"], "Array"]
ScoreWithGradient = Callable[["Array"], "tuple[Array, Array]"]


def climbed(points: Array, history: History, score: Score, slope: ScoreWithGradient, rounds: int = 3) -> Array:
    """The points moved uphill: by gradients on ordered axes, then from value to value on those that have few.

    ``score`` takes points (m, d) to (m,); ``slope`` also gives the gradient (m, d), 0 where there is none.
    """
    codec = history.codec
    found = snapped(_ascended(points, codec, slope), codec)
    better = score(found) > score(points)
    found[~better] = points[~better]
    return _stepped(found, codec, score, rounds)


def _ascended(points: Array, codec: Codec, slope: ScoreWithGradient) -> Array:
    """L-BFGS-B on the sum over all points, each with its own coordinates."""
    from scipy.optimize import minimize

    # Where every value is looked at afterwards, slopes add nothing.
    stepped = (codec.cells > 0) & (codec.cells <= _FEW)
    free = ~stepped & (codec.choices == 0) & ~np.isnan(points)
    if not free.any():
        return points.copy()
    at = points.copy()

    def negative(x: Array) -> tuple[float, Array]:
        at[free] = x
        value, gradient = slope(at)
        return -float(value.sum()), -gradient[free]

    bounds = [(0.0, 1.0)] * int(free.sum())
    best = minimize(negative, points[free], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15})
    at[free] = best.x
    return at


def _stepped(points: Array, codec: Codec, score: Score, rounds: int) -> Array:
    """Coordinate search over the values next to each point, for as long as any gets better."""
    if not codec.cells.any():
        return points
    points, values = points.copy(), score(points)
    for _ in range(rounds):
        near, owner = neighbours(points, codec)
        if not len(near):
            break
        scores = score(near)
        improved = False
        for i in range(len(points)):
            own = np.flatnonzero(owner == i)
            if len(own) and scores[best := own[scores[own].argmax()]] > values[i] + 1e-12:
                points[i], values[i], improved = near[best], scores[best], True
        if not improved:
            break
    return points


def neighbours(points: Array, codec: Codec) -> tuple[Array, NDArray[np.int64]]:
    """Points that differ in one axis with values: another choice, or a value or two away. And whose they are."""
    near, owner = [np.empty((0, points.shape[1]))], []
    for i, point in enumerate(points):
        for j, axis in enumerate(codec.axes):
            if axis.cells and not np.isnan(point[j]):
                others = _values_near(axis, codec.space[axis.name], float(point[j]))
                near.append(np.tile(point, (len(others), 1)))
                near[-1][:, j] = others
                owner += [i] * len(others)
    return snapped(_filled(np.vstack(near)), codec), np.array(owner, dtype=np.int64)


def _values_near(axis: Axis, own: Any, here: float) -> list[float]:
    """The coordinates of other values: of all if there are few or no order, else of the next two on each side."""
    assert axis.cells is not None
    if getattr(own, "log", False):  # whole numbers on a log scale, whose cells differ in width
        value = axis.decode(here)
        return [axis.encode(v) for v in range(value - 2, value + 3) if v != value and own.lower <= v <= own.upper]
    cell = int(here * axis.cells)
    whole = axis.categorical or axis.cells <= _FEW
    cells = range(axis.cells) if whole else range(max(cell - 2, 0), min(cell + 3, axis.cells))
    return [(other + 0.5) / axis.cells for other in cells if other != cell]


def _filled(points: Array) -> Array:
    """What becomes active by another choice begins in the middle."""
    return np.where(np.isnan(points), 0.5, points)


def first_free(points: Array, order: Any, history: History) -> int | None:
    """The first of the points, in this order, that is allowed and was not tried."""
    codec, keys = history.codec, tried(history)
    for index in order:
        config = codec.decode(points[index])
        if Codec.key(config) not in keys and codec.allowed(config):
            return int(index)
    return None
