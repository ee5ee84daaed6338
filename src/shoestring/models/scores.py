"""Losses on a scale for models: by their order alone, by their size with the bad tail drawn in, or both."""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array
from shoestring.core.scores import LARGEST, standardise as standardise, tame as tame

# How far a loss may be beyond the median, in differences of the median to the best.
_FURTHEST = 3.0


def normal_scores(losses: Array) -> Array:
    """The quantiles of a standard normal at the losses' ranks; ties share the mean of their ranks.

    >>> import numpy as np
    >>> from shoestring.models.scores import normal_scores
    >>> normal_scores(np.array([1e9, 0.1, 0.1])).round(3).tolist()
    [0.967, -0.431, -0.431]
    """
    from scipy.special import ndtri  # here because it loads slowly and the first decisions need no scores

    order = np.argsort(losses, kind="stable")
    ordered = losses[order]
    rises = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1  # equal losses have the mean of their ranks
    edges = np.concatenate([[0], rises, [len(losses)]])
    middles = 0.5 * (edges[:-1] + edges[1:]) / len(losses)
    scores = np.empty(len(losses))
    scores[order] = np.repeat(ndtri(middles), np.diff(edges))
    return scores


def cap(losses: Array) -> Array:
    """The losses standardised, none worse than the median by more than three times what the best is better.

    Unlike :func:`tame` it does not change the shape of noise.

    >>> import numpy as np
    >>> from shoestring.models.scores import cap
    >>> cap(np.array([0.0, 1.0, 2.0, 20.0, np.inf])).round(1).tolist()
    [-1.1, -0.8, -0.5, 1.2, 1.2]
    """
    centre, best = np.median(losses), losses.min()
    limit = centre + _FURTHEST * (centre - best)
    return standardise(np.minimum(losses, limit)) if centre > best and abs(limit) < LARGEST else tame(losses)


def blended_scores(losses: Array) -> Array:
    """The mean of normal scores and tamed losses.

    Ranks alone say that the best loss is better than the second best, and not by how much, so that a search by them
    converges slowly where losses are smooth. Sizes alone say too little where nearly all losses are alike.
    """
    return 0.5 * (normal_scores(losses) + tame(losses))


def loss_of_score(score: float, losses: Array, scores: Array) -> float:
    """The loss at a score, interpolated between the observed ones; beyond them, the nearest."""
    order = np.argsort(losses, kind="stable")
    return float(np.interp(score, scores[order], losses[order]))
