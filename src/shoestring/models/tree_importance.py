"""The share of the variation of a function that its parameters explain, by a forest fitted to evaluations.

======== ================================================================ =========
symbol   meaning                                                          shape
======== ================================================================ =========
X, y     evaluations in the unit cube                                     (n, d), (n,)
v, P     value and volume of every leaf of every tree                     (leaves,)
low,high the box of every leaf                                            (leaves, d)
f_j      a tree's mean over all parameters but j, a step function         –
V, V_j   variance of a tree over the cube; of f_j                         (trees,)
======== ================================================================ =========

Functional analysis of variance (Hutter, Hoos and Leyton-Brown, An efficient approach for assessing hyperparameter
importance, ICML 2014): a tree is constant on boxes, so V and V_j are exact sums over its leaves. Here all trees are
handled at once: each f_j is a sum of rectangles, so sorting their ends by (tree, place) and summing up gives it.

Permutation importance (Breiman, Random forests, 2001): by how much the held-out squared error of the forest grows when
one column is shuffled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoestring._arrays import Array

_TREES = 64
_FOLDS, _SHUFFLES = 5, 5


@dataclass(frozen=True, eq=False)
class Importance:
    """Per parameter, its share and the standard deviation of that. ``fit`` is the R² of the forest on held-out data."""

    share: Array
    deviation: Array
    fit: float


def fanova(X: Array, y: Array, seed: int = 0) -> Importance:
    """The share of the variance that each parameter explains by itself; the deviation is over the trees.

    What is missing from a sum of 1 is due to interactions.

    >>> X = np.random.default_rng(0).random((200, 3))
    >>> fanova(X, 3 * X[:, 0] + X[:, 1]).share.round(1).tolist()
    [0.9, 0.1, 0.0]
    """
    X = _fill(X)
    forest = _forest(seed).fit(X, y)
    leaves = _leaves(forest)
    total, mains = leaves.variance(), np.array([leaves.main_effect(j) for j in range(X.shape[1])])
    varied = total > 0
    if not varied.any():
        return Importance(np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0)
    shares = mains[:, varied] / total[varied]
    return Importance(shares.mean(axis=1), shares.std(axis=1), _r2(y, forest.oob_prediction_))


def permutation(X: Array, y: Array, seed: int = 0) -> Importance:
    """The growth of the held-out squared error when a parameter is shuffled, as a share of the variance of ``y``.

    The deviation is over folds and shuffles.
    """
    from sklearn.model_selection import KFold

    X, rng = _fill(X), np.random.default_rng(seed)
    growth, predictions = [], np.zeros(len(y))
    for train, test in KFold(_FOLDS, shuffle=True, random_state=seed).split(X):
        forest = _forest(seed).fit(X[train], y[train])
        predictions[test] = forest.predict(X[test])
        before = np.mean((y[test] - predictions[test]) ** 2)
        shuffled = np.array([_shuffle(X[test], j, rng) for _ in range(_SHUFFLES) for j in range(X.shape[1])])
        errors = (forest.predict(shuffled.reshape(-1, X.shape[1])).reshape(len(shuffled), -1) - y[test]) ** 2
        growth.append(errors.mean(axis=1).reshape(_SHUFFLES, -1) - before)
    shares = np.concatenate(growth) / max(float(np.var(y)), 1e-300)
    return Importance(shares.mean(axis=0), shares.std(axis=0), _r2(y, predictions))


def predict(X: Array, y: Array, at: Array, seed: int = 0) -> Array:
    """Predict other points by a forest fitted to evaluations."""
    return np.asarray(_forest(seed).fit(_fill(X), y).predict(_fill(at)))


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(_TREES, random_state=seed, oob_score=_r2, min_samples_leaf=1)


def _r2(y: Array, guess: Array) -> float:
    return float(1 - np.mean((y - guess) ** 2) / max(float(np.var(y)), 1e-300))


def _fill(X: Array) -> Array:
    """Inactive parameters, which are NaN, as the middle of their range."""
    return np.where(np.isnan(X), 0.5, X)


def _shuffle(X: Array, column: int, rng: np.random.Generator) -> Array:
    X = X.copy()
    X[:, column] = rng.permutation(X[:, column])
    return X


@dataclass(frozen=True, eq=False)
class _Leaves:
    """The leaves of all trees: which tree, v, low and high."""

    trees: int
    tree: Any
    v: Array
    low: Array
    high: Array

    def _mean(self) -> Array:
        return np.asarray(np.bincount(self.tree, self.v * self._volume(), self.trees), dtype=float)

    def _volume(self) -> Array:
        return np.asarray((self.high - self.low).prod(axis=1))

    def variance(self) -> Array:
        """V of every tree."""
        return np.bincount(self.tree, self.v**2 * self._volume(), self.trees) - self._mean() ** 2

    def main_effect(self, j: int) -> Array:
        """V_j of every tree: f_j rises by v·P/width at the lower end of a leaf's side, and falls at the upper end."""
        width = self.high[:, j] - self.low[:, j]
        height = self.v * self._volume() / width
        place = np.concatenate([self.low[:, j], self.high[:, j]])
        tree = np.concatenate([self.tree, self.tree])
        order = np.lexsort((place, tree))
        f = np.cumsum(np.concatenate([height, -height])[order])
        gaps = np.diff(place[order], append=0.0)
        inside = np.diff(tree[order], append=-1) == 0
        second = np.bincount(tree[order][inside], (f**2 * gaps)[inside], self.trees)
        return np.maximum(second - self._mean() ** 2, 0.0)


def _leaves(forest: Any) -> _Leaves:
    """The boxes of the leaves, level by level for all trees at once."""
    trees = [member.tree_ for member in forest.estimators_]
    counts = [tree.node_count for tree in trees]
    first = np.repeat(np.cumsum([0, *counts[:-1]]), counts)
    left, right = (np.concatenate([getattr(t, f"children_{side}") for t in trees]) for side in ("left", "right"))
    feature, threshold = (np.concatenate([getattr(t, name) for t in trees]) for name in ("feature", "threshold"))
    value = np.concatenate([t.value[:, 0, 0] for t in trees])
    low, high = np.zeros((len(left), forest.n_features_in_)), np.ones((len(left), forest.n_features_in_))
    level = np.cumsum([0, *counts[:-1]])
    while len(level := level[left[level] >= 0]):
        below, above = left[level] + first[level], right[level] + first[level]
        low[below] = low[above] = low[level]
        high[below] = high[above] = high[level]
        rows = np.arange(len(level))
        high[below[rows], feature[level]] = low[above[rows], feature[level]] = threshold[level]
        level = np.concatenate([below, above])
    leaf = left < 0
    tree = np.repeat(np.arange(len(trees)), counts)[leaf]
    return _Leaves(len(trees), tree, value[leaf], low[leaf], high[leaf])
