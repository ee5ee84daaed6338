"""Forecasts of learning curves that methods report."""

import math

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.methods import BHPT, named
from shoestring.methods.beliefs import Posterior
from shoestring.methods.curve_beliefs import CurveBelief, HasBelief

NAMES = ["forecast", "bhpt", "bhpt-eps", "bhpt-kgm", "freeze-thaw", "rollout"]
TOP = 9


class Curves:
    def reading(self, config, step, seed):
        return (config["x"] - 0.3) ** 2 + 1 / step

    def __call__(self, trial):
        yield from (self.reading(trial.config, step, trial.seed) for step in range(trial.start + 1, TOP + 1))

    def seconds(self, config, step, seed):
        return 1.0


def halfway(method):
    """The first half of a study with this method, until a moment at which nothing is running."""
    study = ss.Study({"x": (0.0, 1.0)}, budget="40 steps", max_resource=TOP, method=method)
    study.run(Curves(), executor=ss.executors.Simulated(1), progress=False)
    history = History()
    for event in study.events():
        history.restore(event)
        if history.position > 20 and not history.running:
            return history
    raise AssertionError("the study is too short")


def open_trials(history):
    return [trial for trial in history.trials if trial.state == "paused"]


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_are_in_order_and_asking_for_them_changes_no_decision(name):
    method = named(name)
    assert isinstance(method, HasBelief)
    history, untouched = halfway(method), halfway(method)
    trials = open_trials(history)
    beliefs = method.belief(history, trials)
    assert any(belief.steps for belief in beliefs)
    for trial, belief in zip(trials, beliefs, strict=True):
        assert all(trial.step < step <= TOP for step in belief.steps)
        assert all(a <= b <= c for a, b, c in zip(belief.low, belief.median, belief.high, strict=True))
        assert len(belief.steps) == len(belief.low) == len(belief.median) == len(belief.high)
    assert method.belief(history, trials) == beliefs
    assert method.decide(history, generator(0, 0, "d")) == method.decide(untouched, generator(0, 0, "d"))


def test_the_belief_of_forecast_at_the_end_is_what_it_decides_by():
    method = named("forecast")
    history = halfway(method)
    trials = open_trials(history)
    state = method._state(history)
    forecasts = state.forecasts_of_readings()
    for trial, belief in zip(trials, method.belief(history, trials), strict=True):
        column = state.columns.of_arm[trial.arm]
        assert belief.steps[-1] == TOP
        assert belief.median[-1] == pytest.approx(forecasts.loss(forecasts.mean[column]))


def test_the_belief_of_bhpt_is_its_posterior():
    method = BHPT(scale="raw")
    history = halfway(method)
    trials = open_trials(history)
    posterior = Posterior(method._state(history), history)
    for trial, belief in zip(trials, method.belief(history, trials), strict=True):
        column = posterior.state.column(history.arms[trial.arm])
        assert belief.steps == tuple(range(trial.step + 1, TOP + 1))
        assert belief.median == pytest.approx(tuple(posterior.means[column, trial.step :]))
    assert trials


def test_beyond_the_known_scores_a_bound_is_infinite():
    belief = CurveBelief.of_normal([5], np.array([0.0]), np.array([1.0]), lambda s: min(max(s, -1), 1), (-1.0, 1.0))
    assert belief == CurveBelief((5,), (-math.inf,), (0.0,), (math.inf,))
    belief = CurveBelief.of_normal([5], np.array([0.0]), np.array([1.0]), lambda score: 2 * score)
    assert belief.low[0] == pytest.approx(-2 * 1.2816)
