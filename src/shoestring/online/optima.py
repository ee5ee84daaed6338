"""The local optima of an acquisition: x_t is the best of them, the others are its rivals.

Close candidates within one mode are always nearly tied, so the look rules compare modes, not
points (remark in section 4.3; appendix B.3 for the continuous case: 50 random starts, L-BFGS, mean
shift with bandwidth 0.2).

Differs from the paper on a grid, where it does not say what a local optimum is: the largest value
within a tenth of the range, the ends of the range excluded, is the reading that matches Table A2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoestring.online.domains import Arms, Cube

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

# value (m,) and gradient (m, d) at points (m, d)
Objective = Callable[[Array], tuple[Array, Array]]

STARTS = 50
BANDWIDTH = 0.2


@dataclass(frozen=True)
class Neighbourhoods:
    """Which arms are close to which, within ``radius`` of the range of every coordinate."""

    arms: Arms
    radius: float = 0.1

    def optima(self, score: Array) -> Ints:
        """The arms that no neighbour beats. Labels have no neighbours: each is its own mode."""
        if not self.arms.related:
            return np.arange(len(score))
        # The nearest neighbours rule most arms out, so that few need all of theirs.
        likely = np.flatnonzero((score >= score[self._nearest].max(axis=1)) & ~self._at_the_end)
        return np.array([i for i in likely if score[i] >= score[self._balls[i]].max()], dtype=np.intp)

    @cached_property
    def _scaled(self) -> Array:
        return np.nan_to_num(self.arms.points / self.arms.span, nan=-10.0)

    @cached_property
    def _balls(self) -> list[Ints]:
        from scipy.spatial import cKDTree

        # A hair more than the radius, so that rounding does not decide about the arm right at its end.
        balls = cKDTree(self._scaled).query_ball_point(self._scaled, self.radius * (1 + 1e-9), p=np.inf)
        return [np.array(ball, dtype=np.intp) for ball in balls]

    @cached_property
    def _nearest(self) -> Ints:
        """Up to eight nearest members of each ball, padded with the arm itself, shape (N, 8)."""
        nearest = np.tile(np.arange(len(self.arms))[:, None], 8)
        for i, ball in enumerate(self._balls):
            distance = np.abs(self._scaled[ball] - self._scaled[i]).max(axis=1)
            closest = ball[np.argsort(distance, kind="stable")[:8]]
            nearest[i, : len(closest)] = closest
        return nearest

    @cached_property
    def _at_the_end(self) -> NDArray[np.bool_]:
        """Arms on the border of the range that have a neighbour: the score often just leaves the range there."""
        low, high = self._scaled.min(axis=0), self._scaled.max(axis=0)
        border = ((self._scaled <= low) | (self._scaled >= high)) & (high > low)
        crowded = np.array([len(ball) > 1 for ball in self._balls])
        return np.asarray(border.any(axis=1) & crowded)


def search(cube: Cube, objective: Objective, starts: Array) -> Array:
    """Distinct local optima from many starts, best first: rows that are configurations of the space.

    The starts climb together as one problem of L-BFGS-B, whose gradient falls apart by start.
    Parameters that are no real range keep the start's value, and then the best is tried with
    every single one of them changed.
    """
    climbed = _climb(cube, objective, starts)
    settled = np.array([cube.settle(point) for point in np.vstack([climbed, starts])])
    allowed = [cube.codec.allowed(cube.codec.decode(point)) for point in np.vstack([climbed, starts])]
    settled = settled[allowed]
    best = _swap(cube, objective, settled[np.argmax(objective(settled)[0])])
    return _merge(np.vstack([best[None], settled[: sum(allowed[: len(climbed)])]]), objective)


def _climb(cube: Cube, objective: Objective, starts: Array) -> Array:
    from scipy.optimize import minimize

    free = np.asarray(cube.codec.cells == 0)
    if not free.any():
        return starts
    shape = (len(starts), int(free.sum()))

    def loss(flat: Array) -> tuple[float, Array]:
        points = starts.copy()
        points[:, free] = flat.reshape(shape)
        value, gradient = objective(np.where(inactive, np.nan, points))
        return -float(value.sum()), -gradient[:, free].ravel()

    inactive = np.isnan([cube.settle(start) for start in starts])
    bounds = [(0.0, 1.0)] * (shape[0] * shape[1])
    found = minimize(loss, starts[:, free].ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    climbed = starts.copy()
    climbed[:, free] = found.x.reshape(shape)
    return climbed


def _swap(cube: Cube, objective: Objective, best: Array) -> Array:
    """Hill climbing over single changes of the parameters that are no real range."""
    for _ in range(cube.codec.dimensions):
        changed = [best]
        for j, cells in enumerate(cube.codec.cells):
            # A range of many integers is climbed by its neighbours and a sweep of eight, not by all its values.
            values = np.unique(np.linspace(0, cells - 1, min(int(cells), 8)).round()) if cells else ()
            for cell in values:
                point = np.nan_to_num(best, nan=0.5)
                point[j] = (cell + 0.5) / cells
                changed.append(cube.settle(point))
        points = np.array([p for p in changed if cube.codec.allowed(cube.codec.decode(np.nan_to_num(p, nan=0.5)))])
        found = points[np.argmax(objective(points)[0])]
        if np.array_equal(found, best, equal_nan=True):
            return best
        best = found
    return best


def _merge(points: Array, objective: Objective) -> Array:
    """Of the points that mean shift moves to the same place, the best; best first."""
    points = points[np.sort(np.unique(points.round(4), axis=0, return_index=True)[1])]
    points = points[np.argsort(-objective(points)[0], kind="stable")]
    centres = shifted(np.nan_to_num(points, nan=-1.0))
    kept: list[int] = []
    for i, centre in enumerate(centres):
        if all(np.linalg.norm(centre - centres[k]) > BANDWIDTH for k in kept):
            kept.append(i)
    return points[kept]


def shifted(points: Array) -> Array:
    """Where mean shift with a flat kernel takes each point (Cheng, 1995).

    By hand: scikit-learn's takes 150 ms for a few dozen points, this one less than a millisecond.
    """
    from scipy.spatial.distance import cdist

    centres = points
    for _ in range(100):
        inside = (cdist(centres, points) <= BANDWIDTH).astype(np.float64)
        moved = inside @ points / inside.sum(axis=1, keepdims=True)
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return centres
