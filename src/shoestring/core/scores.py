"""Losses on a common scale, with the bad tail drawn in."""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array

# Differences below this on the scale of the losses are rounding.
_DECIMALS = 7
# Larger losses count as this one, so that differences do not overflow.
LARGEST = 1e300


def standardise(values: Array) -> Array:
    """With mean 0 and standard deviation 1; all 0 if the values are equal."""
    spread = values.std()
    return np.asarray(np.round((values - values.mean()) / spread, _DECIMALS)) if spread > 0 else np.zeros(len(values))


def tame(losses: Array) -> Array:
    """The losses standardised, beyond the median by their logarithm: a few that exploded leave the others apart.

    An infinite loss is a little worse than the worst finite one.

    >>> import numpy as np
    >>> from shoestring.core.scores import tame
    >>> tame(np.array([0.0, 1.0, 2.0, 20.0, np.inf])).round(1).tolist()
    [-1.2, -0.8, -0.4, 1.2, 1.2]
    """
    finite = np.isfinite(losses)
    if not finite.any():
        return np.zeros(len(losses))
    known = np.clip(losses[finite], -LARGEST, LARGEST)
    centre = np.median(known)
    spread = centre - known.min()
    over = np.zeros(len(losses))
    with np.errstate(over="ignore"):
        over[finite] = (known - centre) / (spread if spread > 0 else max(float(known.max() - centre), 1e-300))
    over = np.minimum(over, LARGEST)
    over[~finite] = over[finite].max() + 1
    return standardise(np.where(over > 0, np.log1p(np.maximum(over, 0.0)), over))
