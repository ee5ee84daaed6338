"""Points with several losses: which dominate which, the volume that they dominate, and one number for each of them.

======  =======  ==================================================================
symbol  shape    meaning
======  =======  ==================================================================
n, k             the number of points, and of losses of each
a, b    (k,)     points; a dominates b if no loss is larger and one is smaller
r       (k,)     the reference point: only what lies below it in every loss counts
z       (n, k)   losses on the scale [0, 1]
w       (k,)     the weights of the losses, with sum 1
======  =======  ==================================================================

The hypervolume is computed exactly: in two dimensions by a sweep, beyond by exclusive volumes (While, Bradstreet and
Barone, A fast way of calculating exact hypervolumes, 2012).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.randomness import generator

# The weight of the sum in the scalarised loss (Knowles, ParEGO, 2006, equation 2).
SUM_WEIGHT = 0.05
# Where contributions are counted from, with losses on [0, 1], and by how many points beyond two losses.
_EDGE, _DRAWS = 1.1, 1024
# Smaller differences are rounding.
_DECIMALS = 9


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Tell whether a point is better than another in one loss, and worse in none.

    >>> dominates((1, 2), (1, 3)), dominates((1, 2), (1, 2)), dominates((1, 2), (2, 1))
    (True, False, False)
    """
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(x < y for x, y in zip(a, b, strict=True))


def non_dominated(points: Array) -> Mask:
    """Return which points no other one dominates; equal points are all kept. Shape (n,)."""
    return np.asarray(~_dominance(points).any(axis=0))


def _dominance(points: Array) -> Mask:
    """Return at (i, j) whether point i dominates point j. Shape (n, n)."""
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    return np.asarray(no_worse & better)


def domination_ranks(points: Array) -> Codes:
    """Rank each point: 0 if none dominates it, 1 if only points of rank 0 do, and so on. Shape (n,).

    >>> domination_ranks(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0], [3.0, 3.0]])).tolist()
    [0, 0, 1, 2]
    """
    dominates_it = _dominance(points)
    left = dominates_it.sum(axis=0)  # how many unranked points dominate each; -1 once it is ranked
    ranks = np.zeros(len(points), dtype=np.int64)
    rank = 0
    while (front := np.flatnonzero(left == 0)).size:
        ranks[front] = rank
        left = left - dominates_it[front].sum(axis=0)
        left[front] = -1
        rank += 1
    return ranks


def hypervolume(points: Array, reference: Array) -> float:
    """The volume that the points dominate below a reference point.

    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0]))
    3.0
    """
    inside = points[(points < reference).all(axis=1)]
    return _volume(np.unique(inside[non_dominated(inside)], axis=0), reference) if len(inside) else 0.0


def _volume(points: Array, reference: Array) -> float:
    """The volume of non-dominated points, which are sorted by their first loss."""
    k = points.shape[1]
    if k == 1:
        return float(reference[0] - points[:, 0].min())
    if k == 2:
        widths = np.append(points[1:, 0], reference[0]) - points[:, 0]
        return float((widths * (reference[1] - points[:, 1])).sum())
    total = 0.0
    for i, point in enumerate(points):
        own = float(np.prod(reference - point))
        covered = np.maximum(points[i + 1 :], point)  # what later points share with this one
        total += own - hypervolume(covered, reference) if len(covered) else own
    return total


def contributions(points: Array, reference: Array) -> Array:
    """Return how much of the hypervolume each point alone adds; 0 where another one is equal or dominates it. Shape
    (n,).
    """
    everything = hypervolume(points, reference)
    without = [hypervolume(np.delete(points, i, axis=0), reference) for i in range(len(points))]
    return np.maximum(everything - np.array(without), 0.0)


def contribution_ranks(losses: Array, violated: Array) -> Array:
    """The place of each point, from 0: first feasible ones by domination, then the others by their violation.

    Of points with the same rank the one that adds more to the hypervolume of its rank comes first. Shape (n,).
    """
    n, k = losses.shape
    feasible = violated == 0
    rank, added = np.full(n, n), np.zeros(n)
    z = unit_scaled(losses)
    if feasible.any() and k > 1:
        rank[feasible] = domination_ranks(z[feasible])
        for one in np.unique(rank[feasible]):
            members = np.flatnonzero(rank == one)
            added[members] = _gains(z[members])
    elif feasible.any():
        rank[feasible] = np.unique(z[feasible, 0], return_inverse=True)[1]
    order = np.lexsort((-added.round(_DECIMALS), rank, violated))
    places = np.empty(n)
    places[order] = np.arange(n)
    return places


def _gains(z: Array) -> Array:
    """Return how much each point adds to the hypervolume below 1.1; beyond two losses by counting fixed points. Shape
    (n,).
    """
    if z.shape[1] == 2:
        order = np.lexsort((z[:, 1], z[:, 0]))
        a, b = z[order, 0], z[order, 1]
        after, before = np.append(a[1:], _EDGE), np.insert(b[:-1], 0, _EDGE)
        added = np.empty(len(z))
        added[order] = (after - a) * (before - b)
        return added
    draws = _EDGE * generator(0, z.shape[1], "contributions").random((_DRAWS, z.shape[1]))
    covered = (z[:, None, :] <= draws[None, :, :]).all(axis=2)
    return np.asarray((covered & (covered.sum(axis=0) == 1)).mean(axis=1))


def unit_scaled(losses: Array) -> Array:
    """Each loss on [0, 1], by its minimum and maximum; 0 where all are equal. Shape (n, k)."""
    low, high = losses.min(axis=0), losses.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.asarray((losses - low) / spread)


def scalarise(z: Array, w: Array) -> Array:
    """One loss for each point: the largest weighted one, and a little of their sum. Shape (n,).

    Knowles, ParEGO: a hybrid algorithm with on-line landscape approximation, 2006, equation 2.

    >>> scalarise(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([0.5, 0.5])).round(3).tolist()
    [0.525, 0.275]
    """
    weighted = z * w
    return np.asarray(weighted.max(axis=1) + SUM_WEIGHT * weighted.sum(axis=1))
