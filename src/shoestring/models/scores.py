"""Losses on a scale for models: by their order alone, by their size with the bad tail drawn in, or both."""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array

# Differences below this on the scale of the losses are rounding.
_DECIMALS = 7
# How far a loss may be beyond the median, in differences of the median to the best.
_FURTHEST = 3.0
# Larger losses count as this one, so that differences do not overflow.
_LARGEST = 1e300


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


def standardised(values: Array) -> Array:
    """With mean 0 and standard deviation 1; all 0 if the values are equal."""
    spread = values.std()
    return np.asarray(np.round((values - values.mean()) / spread, _DECIMALS)) if spread > 0 else np.zeros(len(values))


def tamed(losses: Array) -> Array:
    """The losses standardised, beyond the median by their logarithm: a few that exploded leave the others apart.

    An infinite loss is a little worse than the worst finite one.

    >>> import numpy as np
    >>> from shoestring.models.scores import tamed
    >>> tamed(np.array([0.0, 1.0, 2.0, 20.0, np.inf])).round(1).tolist()
    [-1.2, -0.8, -0.4, 1.2, 1.2]
    """
    finite = np.isfinite(losses)
    if not finite.any():
        return np.zeros(len(losses))
    known = np.clip(losses[finite], -_LARGEST, _LARGEST)
    centre = np.median(known)
    spread = centre - known.min()
    over = np.zeros(len(losses))
    with np.errstate(over="ignore"):
        over[finite] = (known - centre) / (spread if spread > 0 else max(float(known.max() - centre), 1e-300))
    over = np.minimum(over, _LARGEST)
    over[~finite] = over[finite].max() + 1
    return standardised(np.where(over > 0, np.log1p(np.maximum(over, 0.0)), over))


def capped(losses: Array) -> Array:
    """The losses standardised, none worse than the median by more than three times what the best is better.

    Unlike :func:`tamed` it does not change the shape of noise.

    >>> import numpy as np
    >>> from shoestring.models.scores import capped
    >>> capped(np.array([0.0, 1.0, 2.0, 20.0, np.inf])).round(1).tolist()
    [-1.1, -0.8, -0.5, 1.2, 1.2]
    """
    centre, best = np.median(losses), losses.min()
    limit = centre + _FURTHEST * (centre - best)
    return standardised(np.minimum(losses, limit)) if centre > best and abs(limit) < _LARGEST else tamed(losses)


def blended_scores(losses: Array) -> Array:
    """The mean of normal scores and tamed losses.

    Ranks alone say that the best loss is better than the second best, and not by how much, so that a search by them
    converges slowly where losses are smooth. Sizes alone say too little where nearly all losses are alike.
    """
    return 0.5 * (normal_scores(losses) + tamed(losses))


def loss_of_score(score: float, losses: Array, scores: Array) -> float:
    """The loss at a score, interpolated between the observed ones; beyond them, the nearest."""
    order = np.argsort(losses, kind="stable")
    return float(np.interp(score, scores[order], losses[order]))
