"""The local optima of an acquisition: x_t is the best of them, the others are its rivals.

Close candidates near one optimum are always nearly tied, so the look rules compare optima, not points (remark in
section 4.3 of Wang et al., 2021; appendix B.3 for the continuous case: 50 random starts, L-BFGS, mean shift with
bandwidth 0.2).

On a grid the paper does not say what a local optimum is. The definition that matches its Table A2 is the largest
value within a tenth of the range, the ends of the range excluded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from shoestring._arrays import Array, Mask
from shoestring.models.maximise import Score, ScoreWithGradient, ascend, search_values
from shoestring.online.domains import Arms
from shoestring.spaces.codec import Codec

Ints = NDArray[np.intp]

# Local optima that mean shift with this bandwidth moves to the same place are one.
_BANDWIDTH = 0.2
# Arms within this fraction of the range of every coordinate are neighbours.
_RADIUS = 0.1


@dataclass(frozen=True)
class Neighbourhoods:
    """The neighbours of each arm."""

    arms: Arms

    def optima(self, score: Array) -> Ints:
        """The arms that no neighbour beats. Independent arms have no neighbours: each is an optimum."""
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
        # Slightly more than the radius, so that rounding does not decide about an arm at just this distance.
        balls = cKDTree(self._scaled).query_ball_point(self._scaled, _RADIUS * (1 + 1e-9), p=np.inf)
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
    def _at_the_end(self) -> Mask:
        """Arms on the border of the range that have a neighbour: there the score often just rises out of the range."""
        low, high = self._scaled.min(axis=0), self._scaled.max(axis=0)
        border = ((self._scaled <= low) | (self._scaled >= high)) & (high > low)
        crowded = np.array([len(ball) > 1 for ball in self._balls])
        return np.asarray(border.any(axis=1) & crowded)


def search(codec: Codec, score: Score, slope: ScoreWithGradient, starts: Array) -> Array:
    """Distinct local optima from many allowed starts, best first. Shape (n, d).

    Each start climbs by gradients. A search over the discrete values follows from the best only: from all of them it
    would lead to the same few optima, and the rivals with another choice would be lost.
    """

    def score_if_allowed(points: Array) -> Array:
        values = score(points)
        if codec.space.forbidden_clauses:
            values = np.where([codec.allowed(codec.decode(point)) for point in points], values, -np.inf)
        return values

    optima = ascend(starts, codec, score_if_allowed, slope, iterations=60, real_only=True)
    best = optima[[np.argmax(score(optima))]]
    best = search_values(best, codec, score_if_allowed, rounds=codec.dimensions, sweep=8)
    return _distinct(np.vstack([best, optima]), score)


def _distinct(points: Array, score: Score) -> Array:
    """Of the points that mean shift moves to the same place, the best; best first."""
    points = points[np.sort(np.unique(points.round(4), axis=0, return_index=True)[1])]
    points = points[np.argsort(-score(points), kind="stable")]
    centres = mean_shift(np.nan_to_num(points, nan=-1.0))
    kept: list[int] = []
    for i, centre in enumerate(centres):
        if all(np.linalg.norm(centre - centres[k]) > _BANDWIDTH for k in kept):
            kept.append(i)
    return points[kept]


def mean_shift(points: Array) -> Array:
    """Return where mean shift with a flat kernel takes each point (Cheng, 1995).

    Not scikit-learn's, which takes 150 ms for a few dozen points, this one less than a millisecond.
    """
    centres = points
    for _ in range(100):
        inside = (cdist(centres, points) <= _BANDWIDTH).astype(np.float64)
        moved = inside @ points / inside.sum(axis=1, keepdims=True)
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return centres
