"""Ensembles of regression trees with a predictive standard deviation, built from scikit-learn's trees.

=====  ============================================================  ==========================
name   what                                                          standard deviation
=====  ============================================================  ==========================
et     extremely randomised trees (Geurts, Ernst and Wehenkel 2006)  over the trees
rf     random forest (Breiman 2001)                                  over the trees
gbt    gradient-boosted trees (Friedman 2001)                        over bags: boosting alone
                                                                     has no standard deviation
=====  ============================================================  ==========================

The trees are grown one by one, because scikit-learn's own ensembles spend more time on checks and on starting threads
than on fitting a hundred observations. scikit-learn loads slowly, so it is imported when a forest is first fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array

_TREES = 30
_BAGS, _STAGES, _DEPTH, _RATE = 5, 12, 3, 0.3
# The least standard deviation, as a share of the observations': a lower one only means that there are few trees.
_LEAST_SPREAD = 0.02


@dataclass(frozen=True, eq=False)
class Forest:
    """Members, each (start, trees, rate) and predicting start + rate · Σ trees; the prediction is their moments."""

    members: Sequence[tuple[float, Sequence[Any], float]]
    least: float

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation. Shape (m, D) to (m,) and (m,)."""
        single = np.ascontiguousarray(Z, dtype=np.float32)
        sums = [np.sum([tree.predict(single)[:, 0] for tree in trees], axis=0) for _, trees, _ in self.members]
        each = np.array([start + rate * s for (start, _, rate), s in zip(self.members, sums, strict=True)])
        return each.mean(axis=0), np.maximum(each.std(axis=0), self.least)


def _grow(kind: Any, Z: NDArray[np.float32], y: Array, draws: np.random.RandomState, **options: Any) -> Any:
    return kind(random_state=draws, **options).fit(Z, y, check_input=False).tree_


def _legacy(rng: np.random.Generator) -> np.random.RandomState:
    """The legacy generator that scikit-learn takes; one for all trees, because creating one costs half a tree."""
    return np.random.RandomState(int(rng.integers(2**31)))


def _extra_trees(Z: NDArray[np.float32], y: Array, rng: np.random.Generator) -> Any:
    from sklearn.tree import ExtraTreeRegressor

    draws = _legacy(rng)
    return [(0.0, [_grow(ExtraTreeRegressor, Z, y, draws, max_features=1.0)], 1.0) for _ in range(_TREES)]


def _random_forest(Z: NDArray[np.float32], y: Array, rng: np.random.Generator) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    members, draws = [], _legacy(rng)
    for _ in range(_TREES):
        rows = rng.integers(len(y), size=len(y))
        tree = _grow(DecisionTreeRegressor, Z[rows], y[rows], draws, max_features=0.6, min_samples_leaf=2)
        members.append((0.0, [tree], 1.0))
    return members


def _boosted_trees(Z: NDArray[np.float32], y: Array, rng: np.random.Generator) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    members, draws = [], _legacy(rng)
    for _ in range(_BAGS):
        rows = rng.integers(len(y), size=len(y))
        start, trees = float(y[rows].mean()), []
        left = y[rows] - start
        for _ in range(_STAGES):
            trees.append(_grow(DecisionTreeRegressor, Z[rows], left, draws, max_depth=_DEPTH))
            left = left - _RATE * trees[-1].predict(Z[rows])[:, 0]
        members.append((start, trees, _RATE))
    return members


FORESTS: dict[str, Callable[[NDArray[np.float32], Array, np.random.Generator], Any]] = {
    "et": _extra_trees,
    "rf": _random_forest,
    "gbt": _boosted_trees,
}


def forest(name: str, Z: Array, y: Array, rng: np.random.Generator) -> Forest:
    """A fitted forest: "et", "rf" or "gbt" on columns Z (n, D) and values y (n,).

    >>> import numpy as np
    >>> Z = np.linspace(0, 1, 40)[:, None]
    >>> mean, sd = forest("et", Z, (Z[:, 0] - 0.5) ** 2, np.random.default_rng(0)).predict(Z)
    >>> int(mean.argmin()) in range(17, 23), bool((sd > 0).all())
    (True, True)
    """
    from sklearn import config_context

    single = np.ascontiguousarray(Z, dtype=np.float32)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return Forest(FORESTS[name](single, y, rng), _LEAST_SPREAD * float(y.std()) + 1e-9)
