"""Losses as scores: what is left of them is their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def normal_scores(losses: Array) -> Array:
    """Losses as quantiles of a standard normal, equal ones alike; u.

    >>> import numpy as np
    >>> from shoestring.models.scores import normal_scores
    >>> normal_scores(np.array([1e9, 0.1, 0.1])).round(3).tolist()
    [0.967, -0.431, -0.431]
    """
    import numpy as np
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(losses)
    return np.asarray(ndtri((ranks - 0.5) / len(losses)))
