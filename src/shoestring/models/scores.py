"""Statistics of losses that depend on their order alone."""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array


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


def loss_of_score(score: float, losses: Array, scores: Array) -> float:
    """The loss at a score, interpolated between the observed ones; beyond them, the nearest."""
    order = np.argsort(losses, kind="stable")
    return float(np.interp(score, scores[order], losses[order]))
