"""The training set of model-based samplers: arms in the order in which they became known, and transformed losses.

Losses are standardised and rounded, so that adding a constant to all readings, or scaling them, changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.history import History
from shoestring.core.observations import observed
from shoestring.models.scores import normal_scores, standardised, tamed

Transform = Literal["none", "tame", "rank"]
Liar = Literal["min", "mean", "max", None]


# A model takes in at most so many running arms: what they cost grows with the cube of their number.
_MOST_PENDING = 128


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What is known about the arms of a study at one step.

    ========  =======  ====================================================================
    arms      (n,)     arms with a loss, in the order in which they became known
    points    (n, d)   where they are
    losses    (n,)     their losses; an arm that was stopped before the step has its last loss,
                       but no better than the median of those that reached the step
    failed    (f, d)   arms whose every trial failed
    pending   (p, d)   arms that are running, the last ones that were started
    ========  =======  ====================================================================
    """

    step: int
    arms: Codes
    points: Array
    losses: Array
    failed: Array
    pending: Array


def training_set(history: History, enough: int) -> TrainingSet | None:
    """The arms at the furthest step that ``enough`` of them reached; None if there is no such step."""
    seen = observed(history)
    step = seen.furthest_step(enough)
    if not step:
        return None
    losses = seen.losses(step).copy()
    at_step = ~np.isnan(losses)
    stopped = ~at_step & ~seen.failed & ~seen.pending & (seen.last > 0)
    losses[stopped] = np.maximum(seen.last_loss[stopped], np.median(losses[at_step]))
    known = np.flatnonzero((at_step | stopped) & ~seen.failed)
    known = known[np.argsort(seen.last[known], kind="stable")]
    running = np.flatnonzero(seen.pending & ~at_step)[-_MOST_PENDING:]
    return TrainingSet(step, known, seen.points[known], losses[known], seen.points[seen.failed], seen.points[running])


def with_lies(known: TrainingSet, liar: Liar) -> TrainingSet:
    """Running arms as if they had ended with one loss: the lowest, the mean or the highest (the constant liar).

    With None, and without running arms, nothing changes.

    Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010.

    >>> import numpy as np
    >>> none = np.zeros((0, 1))
    >>> known = TrainingSet(1, np.array([0, 1]), np.zeros((2, 1)), np.array([4.0, 2.0]), none, np.ones((1, 1)))
    >>> with_lies(known, "min").losses, len(with_lies(known, "min").pending)
    (array([4., 2., 2.]), 0)
    """
    if liar is None or not len(known.pending):
        return known
    lie = {"min": known.losses.min(), "mean": known.losses.mean(), "max": known.losses.max()}[liar]
    return replace(
        known,
        arms=np.concatenate([known.arms, np.full(len(known.pending), -1)]),
        points=np.vstack([known.points, known.pending]),
        losses=np.concatenate([known.losses, np.full(len(known.pending), lie)]),
        pending=known.pending[:0],
    )


def thinned(losses: Array, most: int) -> Codes:
    """Which arms a model is fitted to if there are more than it can take: the best half, and evenly of the others.

    >>> import numpy as np
    >>> thinned(np.array([5.0, 1.0, 4.0, 2.0, 3.0, 6.0]), 4)
    array([1, 3, 4, 5])
    """
    if len(losses) <= most:
        return np.arange(len(losses))
    order, half = np.argsort(losses, kind="stable"), most // 2
    places = np.linspace(half, len(order) - 1, most - half).round().astype(int)
    return np.sort(np.concatenate([order[:half], order[places]]))


def scaled(losses: Array, transform: Transform) -> Array:
    """The losses on a scale for models, mean 0 and standard deviation 1. Shape (n,).

    "none" only shifts and scales, "tame" draws in the bad tail first, and "rank" keeps nothing but the order.
    """
    if transform == "tame":
        return tamed(losses)
    return standardised(normal_scores(losses) if transform == "rank" else losses)
