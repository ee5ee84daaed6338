"""Trials on a virtual clock."""

import pytest

import shoestring as ss
from shoestring import compose
from shoestring.executors import Simulated
from shoestring.samplers import Random
from shoestring.schedulers import ASHA, Full

SPACE = {"x": (0.0, 1.0)}


def test_simulated_time_and_utilisation():
    class Problem:
        def __call__(self, trial):
            raise AssertionError("a problem is played, not called")

        def reading(self, config, step, seed):
            return config["x"] / step

        def seconds(self, config, step, seed):
            return 10.0

    study = ss.Study(SPACE, budget="80 steps", method=compose(Random(), Full()), max_resource=4)
    study.run(Problem(), executor=Simulated(5))
    assert study.spent["seconds"] == pytest.approx(10 * 80 / 5)


def test_simulated_deadline_is_exact():
    study = ss.Study(SPACE, budget=ss.Budget(seconds=10.5), method=compose(Random(), ASHA()), max_resource=9)

    def steady(trial):
        while True:
            yield trial.config["x"]

    study.run(steady, executor=Simulated(3))
    assert study.spent["seconds"] == 10.5
    assert len(study.history.readings) == 30
    assert sum(trial.state == "stopped" for trial in study.trials) == 3
