"""The training set of model-based samplers: the step they fit at, arms in the order in which they became known, and
transformed losses.

Losses are standardised and rounded, so that adding a constant to all readings, or scaling them, changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.history import History
from shoestring.core.observations import Observations, observe
from shoestring.models.scores import cap, normal_scores, standardise, tame

Transform = Literal["none", "tame", "cap", "rank"]
Liar = Literal["min", "mean", "max", "ignore", None]
FitAt = Literal["predictive", "furthest"]

# What early steps are expected to be worth counts as much as this many arms that were trained further.
_PRIOR_ARMS = 4
# A step predicts if its order agrees this much with later ones, from -1 to 1 (1: every two arms keep their order).
_LEAST_AGREEMENT = 0.3
# Of those that were trained further, at most this many are compared.
_MOST_COMPARED = 20

# A model takes in at most this many running arms: the cost grows with the cube of their number.
_MOST_PENDING = 128


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The known losses of the arms of a study at one step.

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


def fitting_step(history: History, enough: int, fit_at: FitAt) -> int:
    """The step at which a model compares the arms, the furthest that ``enough`` of them reached; 0 if there is none.

    With "predictive" there is none either while the losses at that step have not shown that they predict later ones.
    Any two arms that were trained further have an order at this step, and one at the furthest step that both reached.
    The agreement of these orders, from -1 to 1, is averaged over all pairs, and drawn towards log(1 + step) / log(1 +
    last step), as if that had been seen in a few more arms: late steps are believed until they are seen to mislead,
    the first ones only once they have been right.
    """
    seen, last = observe(history), history.max_resource or 1
    step = seen.furthest_step(enough)
    if fit_at == "furthest" or not step or step >= last:
        return step
    further = np.flatnonzero(seen.reached > step)[:_MOST_COMPARED]
    prior = math.log(1 + step) / math.log(1 + last)
    shown = len(further) * _agreement(seen, step, further) + _PRIOR_ARMS * prior
    return step if shown >= _LEAST_AGREEMENT * (len(further) + _PRIOR_ARMS) else 0


def _agreement(seen: Observations, step: int, arms: Codes) -> float:
    """Kendall's coefficient between the order of arms at a step and at the furthest step that each pair reached."""
    signs = []
    for first, second in combinations(arms.tolist(), 2):
        shared = int(min(seen.reached[first], seen.reached[second]))
        now, later = (seen.loss(first, s) - seen.loss(second, s) for s in (step, shared))
        signs.append(np.sign(now) * np.sign(later))
    return float(np.nan_to_num(signs).mean()) if signs else 0.0


def training_set(history: History, enough: int, fit_at: FitAt = "predictive") -> TrainingSet | None:
    """The arms at the step that a model is fitted at (:func:`fitting_step`); None without such a step."""
    seen = observe(history)
    step = fitting_step(history, enough, fit_at)
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

    With "ignore" running arms are left out, as if nothing had been asked for yet. With None, and without running arms,
    nothing changes.

    Ginsbourger, Le Riche and Carraro, Kriging is well-suited to parallelize optimization, 2010.

    >>> import numpy as np
    >>> none = np.zeros((0, 1))
    >>> known = TrainingSet(1, np.array([0, 1]), np.zeros((2, 1)), np.array([4.0, 2.0]), none, np.ones((1, 1)))
    >>> with_lies(known, "min").losses, len(with_lies(known, "min").pending)
    (array([4., 2., 2.]), 0)
    """
    if liar is None or not len(known.pending):
        return known
    if liar == "ignore":
        return replace(known, pending=known.pending[:0])
    lie = {"min": known.losses.min(), "mean": known.losses.mean(), "max": known.losses.max()}[liar]
    return replace(
        known,
        arms=np.concatenate([known.arms, np.full(len(known.pending), -1)]),
        points=np.vstack([known.points, known.pending]),
        losses=np.concatenate([known.losses, np.full(len(known.pending), lie)]),
        pending=known.pending[:0],
    )


def thinned(losses: Array, most: int) -> Codes:
    """Return which arms a model is fitted to if there are more than it can take: the best half, and evenly of the
    others.

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

    "none" only shifts and scales, "tame" draws in the bad tail first, "cap" cuts it off, and "rank" keeps nothing but
    the order.
    """
    if transform in ("tame", "cap"):
        return tame(losses) if transform == "tame" else cap(losses)
    return standardise(normal_scores(losses) if transform == "rank" else losses)


def refit_size(n: int) -> int:
    """Return how many of n arms the parameters rest on: all up to 20, then refitted at every 5th, 10th, 20th and 40th
    arm.

    >>> [refit_size(n) for n in (7, 23, 79, 119, 333, 999)]
    [7, 20, 70, 100, 320, 960]
    """
    if n <= 20:
        return n
    every = 5
    while n >= 10 * every and every < 40:
        every *= 2
    return n - n % every
