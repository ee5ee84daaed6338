"""Trials in processes of their own: what hangs, dies or cannot travel."""

import pytest

import shoestring as ss
from shoestring.errors import ObjectiveError
from shoestring.executors import Processes

from . import objectives, slow_to_load

SPACE = {"x": (0.0, 1.0)}


def run(objective, executor, budget, max_resource=2):
    study = ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource)
    return study.run(objective, executor=executor)


def test_a_trial_that_hangs_is_ended_and_the_study_goes_on():
    study = run(objectives.hanging, Processes(2, trial_seconds=1.0), "10 evaluations")
    for trial in study.trials:
        assert trial.state == ("failed" if trial.config["x"] < 0.5 else "finished")
        if trial.state == "failed":
            assert "trial_seconds=1" in trial.message
    assert study.spent["steps"] == 20, "the step that hung is charged"


def test_a_trial_whose_process_dies_is_lost_and_the_study_goes_on():
    study = run(objectives.dying, Processes(2), "12 evaluations")
    lost = [trial for trial in study.trials if trial.state == "lost"]
    assert lost
    assert all(trial.config["x"] < 0.5 and "code 3" in trial.message and trial.step == 1 for trial in lost)
    assert study.spent["steps"] == 24


def test_a_reading_that_cannot_travel_is_a_number_all_the_same():
    study = run(objectives.unpicklable_reading, Processes(2), "3 evaluations", max_resource=1)
    assert all(trial.readings[1].value == trial.config["x"] for trial in study.trials)


def test_an_objective_that_cannot_travel_is_refused_before_anything_is_spent():
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    with pytest.raises(ObjectiveError, match="top level"):
        study.run(lambda trial: 1.0, executor=Processes(2))
    assert study.spent["evaluations"] == 0


def test_trial_seconds_do_not_count_loading():
    study = ss.Study(SPACE, budget="6 evaluations", method="random", max_resource=2)
    study.run(slow_to_load.sometimes_hanging, executor=Processes(1, trial_seconds=0.8))
    assert {trial.state for trial in study.trials} == {"failed", "finished"}
