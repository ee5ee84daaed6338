"""The loop between a study and an executor, whichever it is."""

import json
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.errors import EverythingFailed, MethodError
from shoestring.executors import Inline, Processes, Simulated
from tests.executors import objectives

SPACE = {"x": (0.0, 1.0)}


def run(objective, executor, budget, max_resource=2):
    study = ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource)
    return study.run(objective, executor=executor)


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_a_deadline_ends_what_is_running(executor):
    study = ss.Study(SPACE, budget="2s", method="random", max_resource=10_000)
    study.run(objectives.stuck, executor=executor)
    assert study.spent["seconds"] <= 2.0
    assert {trial.state for trial in study.trials} == {"stopped"}
    assert study.state == "finished"


def test_a_broken_objective_does_not_burn_the_whole_budget():
    study = ss.Study(SPACE, budget="30 evaluations", method="random")

    def typo(trial):
        return trial.config["y"]

    with pytest.raises(EverythingFailed, match=r"trial 0.*KeyError: 'y'"):
        study.run(typo)
    assert study.spent["evaluations"] == 20
    study.run(lambda trial: trial.config["x"])
    assert study.spent["evaluations"] == 30, "once mended, the study goes on"


def test_bad_options():
    for make in (lambda: Inline(0), lambda: Simulated(0), lambda: Processes(0)):
        with pytest.raises(MethodError):
            make()


@pytest.mark.parametrize("executor", [Inline(), Simulated(2), Processes(2)], ids=repr)
def test_an_objective_that_gives_nothing_is_a_failure_and_the_study_ends(executor):
    study = ss.Study(SPACE, budget="100 steps", method="random", max_resource=9)
    with pytest.raises(EverythingFailed, match="it ended without a reading"):
        study.run(objectives.silent, executor=executor)
    assert study.spent["steps"] == 20


def sometimes(trial):
    if trial.config["x"] < 0.5:
        json.loads("{")
    return trial.config["x"]


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_the_first_failure_is_said_and_the_study_counts_them(executor, caplog):
    study = ss.tune(sometimes, SPACE, budget="12 evaluations", method="random", executor=executor)
    failed = sum(trial.state == "failed" for trial in study.trials)
    said = [r.getMessage() for r in caplog.records if r.levelname == "WARNING" and "failed" in r.getMessage()]
    assert len(said) == 1 < failed
    assert "JSONDecodeError" in said[0]
    assert f"12 trials ({failed} failed)" in repr(study)


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_an_error_is_shown_at_the_line_of_the_user_not_where_a_library_raised_it(executor):
    study = ss.tune(sometimes, SPACE, budget="12 evaluations", method="random", executor=executor)
    line = sometimes.__code__.co_firstlineno + 2
    messages = {trial.message for trial in study.trials if trial.state == "failed"}
    assert all(message.endswith(f"({Path(__file__).name}:{line})") for message in messages)


def test_an_error_of_the_call_itself_has_no_place():
    with pytest.raises(EverythingFailed, match=r"has no len\(\); trial\.config has 'x'$"):
        ss.tune(len, SPACE, budget="2 evaluations", method="random")


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_readings_and_errors_that_cannot_even_be_shown(executor):
    study = ss.Study(SPACE, budget="12 evaluations", method="random", max_resource=2)
    study.run(objectives.awful, executor=executor)
    assert {trial.state for trial in study.trials} == {"failed", "finished"}
    assert all(len(trial.message) < 2000 for trial in study.trials)


@pytest.mark.parametrize("executor", [Inline(), Simulated(1), Processes(1)], ids=repr)
@pytest.mark.parametrize("ending", ["raises", "gives NaN"])
def test_a_trial_that_failed_keeps_the_files_of_its_last_reading(executor, ending, tmp_path):
    space = {"x": (0.0, 1.0), "ending": [ending]}
    study = ss.Study(space, budget="1 evaluations", method="random", max_resource=9, storage=tmp_path / "a.db")
    study.run(objectives.failing_at_the_third_step, executor=executor)
    assert study.trials[0].state == "failed"
    assert (study.best.trial, study.best.step) == (0, 2)
    assert (study.directory(study.best.trial) / "step").read_text() == "2"
