"""Fabolas: what its process says about the end, what a reading is worth, and what it chooses."""

import numpy as np
import pytest

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import Fabolas
from shoestring.methods.baselines.fabolas import _Model
from shoestring.problems import CurveTable

STEPS = 16


def table(arms=40, seed=0):
    """Curves that fall to a floor that depends smoothly on one parameter."""
    rng = np.random.default_rng(seed)
    X = rng.random((arms, 1))
    floor = 3 * (X[:, 0] - 0.4) ** 2
    return CurveTable(X, floor[:, None] + 2.0 / np.arange(1, STEPS + 1), space={"x": (0.0, 1.0)})


def played(method, budget, seed=0):
    problem = table()
    study = ss.Study(problem.space, budget=ss.Budget(steps=budget), method=method, max_resource=STEPS, seed=seed)
    study.run(problem, executor=Simulated(1))
    return study


@pytest.fixture
def model():
    study = played("random", 4 * STEPS)
    readings = [(trial.arm, step, loss) for trial, step, loss in study.history.readings if step in (1, 2, 4, 8, 16)]
    return _Model(study.history, readings, STEPS)


def test_the_posterior_is_that_of_the_joint_gaussian(model):
    Z, t = np.array([[0.2], [0.7]]), np.array([1.0, 0.5])
    K = model._kernel(model._theta, model._X, model._s, model._X, model._s)
    K += (np.exp(model._theta[4]) + 1e-8) * np.eye(len(K))
    cross = model._kernel(model._theta, model._X, model._s, Z, t)
    mean, C = model.joint(Z, t)
    np.testing.assert_allclose(mean, cross.T @ np.linalg.solve(K, model.u), atol=1e-8)
    expected = model._kernel(model._theta, Z, t, Z, t) - cross.T @ np.linalg.solve(K, cross)
    np.testing.assert_allclose(C, expected, atol=1e-8)


def test_a_reading_near_the_end_tells_more_than_an_early_one(model):
    points = np.array([[0.05], [0.35], [0.95]])
    draws = np.random.default_rng(0).standard_normal((4000, 3))
    early, late = (model.information(points, [(1, step)], draws)[0] for step in (1, STEPS))
    assert late > early > -0.02


def test_it_stops_bad_configurations_and_finishes_a_good_one():
    study = played(Fabolas(), 8 * STEPS)
    trained = [trial.step for trial in study.trials]
    assert study.spent["steps"] == 8 * STEPS
    assert min(trained) < STEPS
    assert study.best.value < np.sort(table()._Y[:, -1])[5]


def test_wrong_options_are_refused():
    with pytest.raises(MethodError, match="startup"):
        Fabolas(startup=0)
