"""Importance on forests: exact on trees, known values on known functions."""

import numpy as np
import pytest

from shoestring.models.tree_importance import _forest, _leaves, fanova, permutation


def _data(function, n=300, d=3, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    return X, function(X)


def test_the_leaves_cover_the_cube_and_predict_as_the_trees_do():
    X, y = _data(lambda X: X[:, 0] * X[:, 1], 80)
    forest = _forest(0).fit(X, y)
    leaves = _leaves(forest)
    volumes = (leaves.high - leaves.low).prod(axis=1)
    assert np.bincount(leaves.tree, volumes) == pytest.approx(np.ones(len(forest.estimators_)))
    at = np.random.default_rng(1).random((50, 3)).astype(np.float32)
    for number, tree in enumerate(forest.estimators_[:3]):
        own = leaves.tree == number
        inside = ((at[:, None] > leaves.low[own]) & (at[:, None] <= leaves.high[own])).all(axis=2)
        assert (inside @ leaves.v[own]) == pytest.approx(tree.predict(at))


def test_main_effects_are_those_of_a_fine_grid():
    X, y = _data(lambda X: X[:, 0] + X[:, 0] * X[:, 1], 60, 2)
    forest = _forest(0).fit(X, y)
    leaves = _leaves(forest)
    n = 400
    middles = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    values = forest.estimators_[0].predict(grid).reshape(n, n)
    assert leaves.variance()[0] == pytest.approx(values.var(), rel=0.02)
    assert leaves.main_effect(0)[0] == pytest.approx(values.mean(axis=1).var(), rel=0.02)
    assert leaves.main_effect(1)[0] == pytest.approx(values.mean(axis=0).var(), rel=0.05)


def test_the_shares_of_a_linear_function_are_known():
    found = fanova(*_data(lambda X: 2 * X[:, 0] + X[:, 1], 600))
    assert found.share == pytest.approx([0.8, 0.2, 0.0], abs=0.06)
    assert found.fit > 0.95


def test_an_interaction_belongs_to_no_parameter_alone():
    found = fanova(*_data(lambda X: (X[:, 0] - 0.5) * (X[:, 1] - 0.5), 600))
    assert found.share.sum() < 0.5


@pytest.mark.parametrize("measure", [fanova, permutation])
def test_constant_values_have_no_important_parameter(measure):
    found = measure(*_data(lambda X: np.ones(len(X)), 40))
    assert found.share == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("measure", [fanova, permutation])
def test_the_same_data_give_the_same_importance_and_inactive_parameters_are_taken(measure):
    X, y = _data(lambda X: X[:, 0], 60)
    X[::2, 2] = np.nan
    assert measure(X, y).share.tolist() == measure(X, y).share.tolist()
    assert measure(X, y).share.argmax() == 0
