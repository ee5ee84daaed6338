"""Several models' opinions of the same candidates: forests fitted to a study, and sums of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.models.forests import Forest, forest
from shoestring.samplers.candidates import embedding
from shoestring.samplers.training import TrainingSet, Transform, scaled, thinned

# Forests are fitted to at most this many arms.
_MOST_FITTED = 400


def fitted_forest(name: str, history: History, known: TrainingSet, transform: Transform) -> tuple[Forest, float]:
    """A forest fitted to the arms, failed ones with the worst loss, and the best value in its scale.

    Cached by the content it was fitted to.
    """
    y = scaled(known.losses, transform)
    points = np.vstack([known.points, known.failed])
    y = np.concatenate([y, np.full(len(known.failed), y.max())])
    key = blake2b(points.tobytes() + y.tobytes(), digest_size=16).digest()
    kept: dict[bytes, Forest] = history.cached(("forest", name), dict)
    if key not in kept:
        kept.clear()
        rng = generator(history.seed, len(y), f"forest {name}")  # keyed by the number of arms, not of questions
        chosen = thinned(y, _MOST_FITTED)
        kept[key] = forest(name, embedding(history)(points[chosen]), y[chosen], rng)
    return kept[key], float(y.min())


def mean_ranks(scores: Sequence[Array]) -> Array:
    """The mean over models of the ranks that they give to the candidates; 1 is the highest score. Shape (m,).

    >>> import numpy as np
    >>> mean_ranks([np.array([0.9, 0.5, 0.1]), np.array([0.0, 7.0, 5.0])])
    array([2. , 1.5, 2.5])
    """
    from scipy.stats import rankdata

    return np.asarray(np.mean([rankdata(-values) for values in scores], axis=0))
