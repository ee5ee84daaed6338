"""Maximising an acquisition over the unit cube of a space: by gradients, then from value to value.

The samplers climb from their best candidates (:func:`climb`). Online tuning climbs from random starts by
gradients alone (:func:`ascend`), because it needs the local optima, and searches the values only around the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.spaces.axes import Axis
from shoestring.spaces.codec import Codec

# Points (m, d), NaN where a coordinate is inactive, to scores (m,), and to scores and gradients (m, d).
Score = Callable[[Array], Array]
ScoreWithGradient = Callable[[Array], tuple[Array, Array]]

# An ordered axis with at most this many values is tried at all of them, others at the next values.
_FEW = 6


def snap(points: Array, codec: Codec) -> Array:
    """The points of the configurations that points decode to: mid-cell, NaN where inactive. Shape (m, d).

    A parameter that was inactive, and that a move of another one makes active, starts in the middle of its range.
    """
    if codec.space.conditions:
        filled = np.nan_to_num(points, nan=0.5)
        return np.array([codec.encode(codec.decode(point)) for point in filled]).reshape(points.shape)
    result = np.clip(points, 0.0, 1.0)
    for j, axis in enumerate(codec.axes):
        own: Any = codec.space[axis.name]
        if axis.cells and getattr(own, "log", False):
            result[:, j] = [axis.encode(axis.decode(float(u))) for u in result[:, j]]
        elif axis.cells:
            result[:, j] = (np.minimum(np.floor(result[:, j] * axis.cells), axis.cells - 1) + 0.5) / axis.cells
    return result


def climb(points: Array, codec: Codec, score: Score, slope: ScoreWithGradient, iterations: int = 15) -> Array:
    """The points moved uphill: by gradients on ordered axes, then from value to value on discrete ones."""
    return search_values(ascend(points, codec, score, slope, iterations), codec, score)


def ascend(
    points: Array,
    codec: Codec,
    score: Score,
    slope: ScoreWithGradient,
    iterations: int = 15,
    real_only: bool = False,
) -> Array:
    """The points moved by L-BFGS-B on the sum of their scores, and snapped; a point that got worse stays.

    Real ranges move, and without ``real_only`` long integer ranges too.
    """
    from scipy.optimize import minimize  # a fifth of a second to import, which the first proposals need not pay

    # Where every value is tried afterwards, slopes add nothing.
    moving = (codec.cells == 0) | ((codec.cells > _FEW) & (codec.choices == 0) & (not real_only))
    free = moving & ~np.isnan(points)
    at = points.copy()

    def negative(x: Array) -> tuple[float, Array]:
        at[free] = x
        value, gradient = slope(at)
        return -float(value.sum()), -gradient[free]

    if free.any():
        bounds = [(0.0, 1.0)] * int(free.sum())
        at[free] = minimize(
            negative, points[free], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations}
        ).x
    found = snap(at, codec)
    worse = ~(score(found) > score(points))
    found[worse] = points[worse]
    return found


def search_values(points: Array, codec: Codec, score: Score, rounds: int = 3, sweep: int = 0) -> Array:
    """Coordinate search over the values next to each point, for as long as any gets better.

    ``sweep`` is how many values over the whole of a long range are tried as well.
    """
    if not codec.cells.any():
        return points
    points, values = points.copy(), score(points)
    for _ in range(rounds):
        near, owner = neighbours(points, codec, sweep)
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


def neighbours(points: Array, codec: Codec, sweep: int = 0) -> tuple[Array, Codes]:
    """Points that differ on one discrete axis, and for each the index of the point it is a neighbour of."""
    near, owner = [np.empty((0, points.shape[1]))], []
    for i, point in enumerate(points):
        for j, axis in enumerate(codec.axes):
            if axis.cells and not np.isnan(point[j]):
                others = _values_near(axis, codec.space[axis.name], float(point[j]))
                if axis.cells > _FEW and not axis.categorical:
                    others += np.linspace(0.0, 1.0, sweep).tolist()
                near.append(np.tile(point, (len(others), 1)))
                near[-1][:, j] = others
                owner += [i] * len(others)
    return snap(np.vstack(near), codec), np.array(owner, dtype=np.int64)


def _values_near(axis: Axis, own: Any, here: float) -> list[float]:
    """Coordinates of other values: all if they are few or unordered, else the next two on each side."""
    assert axis.cells is not None
    if getattr(own, "log", False):  # integers on a log scale, whose cells differ in width
        value = axis.decode(here)
        return [axis.encode(v) for v in range(value - 2, value + 3) if v != value and own.lower <= v <= own.upper]
    cell = int(here * axis.cells)
    whole = axis.categorical or axis.cells <= _FEW
    cells = range(axis.cells) if whole else range(max(cell - 2, 0), min(cell + 3, axis.cells))
    return [(other + 0.5) / axis.cells for other in cells if other != cell]
