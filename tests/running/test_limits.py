"""Limits: trials that are given up or tried again, and studies that are stopped early."""

import asyncio
import logging
import os
import time

import pytest

import shoestring as ss
from shoestring.core.events import Adopted, Stopped
from shoestring.errors import MethodError
from shoestring.executors import Inline, Processes, Simulated
from tests.executors import objectives

SPACE = {"x": (0.0, 1.0)}


def study_of(budget="10 evaluations", max_resource=2, mode="min", storage=None):
    return ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource, mode=mode, storage=storage)


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
@pytest.mark.parametrize("limit", ["trial_timeout", "step_timeout"])
def test_a_trial_that_hangs_is_ended_and_charged_and_the_study_goes_on(executor, limit):
    study = study_of("6 evaluations").run(objectives.hanging, executor=executor, **{limit: 1.5})
    assert {trial.state for trial in study.trials} == {"failed", "finished"}
    for trial in study.trials:
        assert trial.state == ("failed" if trial.config["x"] < 0.5 else "finished")
        if trial.state == "failed":
            assert f"{limit}=1.5 s" in trial.message
    assert study.spent["steps"] == 12, "the step that hung is charged"


def steady(trial):
    while True:
        yield trial.config["x"]


class Slow:
    """A problem on a virtual clock: the steps of some trials take long."""

    def reading(self, config, step, seed):
        return config["x"]

    __call__ = reading

    def seconds(self, config, step, seed):
        return 10.0 if config["x"] < 0.5 else 1.0


def test_a_timeout_on_a_virtual_clock():
    study = study_of("12 evaluations", 3).run(Slow(), executor=Simulated(4), trial_timeout=5.0)
    assert {(trial.state, trial.config["x"] < 0.5) for trial in study.trials} == {("failed", True), ("finished", False)}
    assert all(trial.message == "it took longer than trial_timeout=5 s" for trial in study.trials if trial.message)


def test_a_trial_has_its_time_over_all_its_grants():
    def train(trial):
        while True:
            time.sleep(0.02)
            yield trial.config["x"]

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9).run(train, trial_timeout=0.1)
    late = [trial for trial in study.trials if trial.state == "failed"]
    assert late, "no trial came to nine steps"
    assert all(trial.step < 9 and "trial_timeout=0.1 s" in trial.message for trial in late)


def test_a_deadline_that_a_bare_except_swallows_comes_again():
    def stubborn(trial):
        try:
            time.sleep(1000)
        except:  # noqa: E722
            time.sleep(1000)
        yield 1.0

    study = study_of("0.3s")
    with pytest.raises(ss.errors.EverythingFailed, match="time ended"):
        study.run(stubborn)


@pytest.mark.parametrize(("executor", "start"), [(Inline(), 0), (Processes(2), 0), (Simulated(2), 1)], ids=repr)
def test_an_objective_that_raises_is_tried_again_on_request(executor, start, tmp_path):
    def fragile(trial):
        yield 1.0
        mark = tmp_path / str(trial.seed)
        if not mark.exists():
            mark.touch()
            raise ValueError("the first time always breaks")
        yield 0.5

    study = study_of("4 evaluations").run(fragile, executor=executor, retries=1)
    assert {trial.state for trial in study.trials} == {"finished"}
    adopted = [event for event in study.events() if isinstance(event, Adopted)]
    assert sorted((e.trial, e.start, e.attempt, e.steps) for e in adopted) == [(i, start, 1, 1) for i in range(4)]
    assert all("the first time always breaks" in event.message for event in adopted)
    assert study.spent["steps"] == 16 - 4 * start, "the step that failed and the one that was run again are charged"
    assert study.verify().ok


def test_an_objective_that_always_raises_is_given_up():
    calls = []

    def broken(trial):
        calls.append(trial.seed)
        if trial.config["x"] < 0.5:
            raise ValueError("always")
        return trial.config["x"]

    study = study_of("10 evaluations", None).run(broken, retries=2)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert all(calls.count(trial.seed) == 3 and trial.attempts == 2 for trial in failed)
    assert study.spent["steps"] == 10 + 2 * len(failed)


@pytest.mark.parametrize("executor", [Inline(), Processes(2), Simulated(3)], ids=repr)
@pytest.mark.parametrize(("mode", "target"), [("min", 0.3), ("max", 0.7)])
def test_a_study_stops_at_its_target(executor, mode, target):
    study = study_of("1000 evaluations", 2, mode)
    study.run(steady, executor=executor, target=target)
    reached = [value <= target if mode == "min" else value >= target for value in (study.best.value,)]
    assert reached == [True]
    assert len(study.trials) < 50
    assert study.state == "finished"
    assert f"the target {target} was reached" in study.reason
    assert not study.history.running
    assert study.verify().ok
    before = study.spent
    assert study.run(steady, target=target).spent == before, "it is reached already"


def test_nothing_is_spent_on_a_target_that_a_known_result_has_reached():
    study = study_of()
    study.add({"x": 0.5}, 0.25)
    study.run(steady, target=0.3)
    assert not any(study.spent.values())
    assert "the target 0.3 was reached: trial 0" in study.reason


def test_no_step_is_charged_that_did_not_begin():
    study = study_of("100 steps", 10).run(steady, target=1.0)
    assert (study.trials[0].state, study.spent["steps"]) == ("stopped", 1)


def test_a_study_stops_when_its_patience_is_over():
    study = study_of("1000 evaluations", None).run(lambda trial: trial.config["x"], patience="15 evaluations")
    best = study.best.trial
    assert len(study.trials) == best + 16
    assert "has not improved for 15 evaluations" in study.reason


def test_a_stopped_study_that_is_run_again_goes_on(tmp_path):
    study = study_of("20 evaluations", None, storage=tmp_path / "a.db")

    def loss(trial):
        if trial.arm == 4:
            study.stop("enough for today")
        return trial.config["x"]

    study.run(loss)
    assert (len(study.trials), study.state, study.reason) == (5, "finished", "enough for today")
    assert study.ask() is None
    assert len(study.run(lambda trial: trial.config["x"]).trials) == 20
    assert [event.reason for event in study.events() if isinstance(event, Stopped)] == ["enough for today", ""]
    assert study.verify().ok


def test_a_study_that_is_stopped_before_its_first_reading_is_no_error(tmp_path):
    study = study_of("20 steps", 9, storage=tmp_path / "a.db")

    def endless(trial):
        ss.Study.load(tmp_path / "a.db").stop("a mistake")
        time.sleep(1000)
        yield 1.0

    assert study.run(endless, workers=2).reason == "a mistake"
    assert not study.history.readings


def test_a_study_is_stopped_from_another_process_at_once(tmp_path):
    """The steps would take for ever: the objective itself stops the study from its worker process."""
    storage = tmp_path / "a.db"

    def endless(trial):
        yield trial.config["x"]
        ss.Study.load(storage).stop("from elsewhere")
        time.sleep(1000)

    study = study_of("1000 evaluations", 9, storage=storage).run(endless, workers=2)
    assert {trial.state for trial in study.trials} == {"stopped"}
    assert {trial.message for trial in study.trials} == {"from elsewhere"}


def test_a_process_that_an_objective_forks_does_not_drive_the_study(tmp_path):
    def forking(trial):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        yield trial.config["x"] + (0 if child else 100)  # the child comes back too

    study = study_of("5 evaluations", 1, storage=tmp_path / "a.db").run(forking)
    assert [trial.readings[1].value for trial in study.trials] == [trial.config["x"] for trial in study.trials]
    assert len(study.events()) == 11


def test_a_study_that_was_opened_before_a_fork_is_refused_after_it(tmp_path):
    study = study_of(storage=tmp_path / "a.db")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            study.ask()
        except ss.errors.StorageError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_task_that_is_cancelled_is_a_failure():
    def cancelled(trial):
        if trial.config["x"] < 0.5:
            raise asyncio.CancelledError
        return trial.config["x"]

    study = study_of("10 evaluations", None).run(cancelled)
    assert {trial.message.partition(":")[0] for trial in study.trials if trial.state == "failed"} == {"CancelledError"}


def test_each_ended_trial_is_logged(caplog):
    def train(trial):
        if trial.arm == 1:
            raise ValueError("the second one")
        yield ss.Reading(trial.config["x"], cost=2.0)

    with caplog.at_level(logging.INFO, "shoestring"):
        study = study_of("2 evaluations", 1).run(train)
    first, second = (record.getMessage() for record in caplog.records if record.getMessage().startswith("trial"))
    value = study.trials[0].config["x"]
    assert first.startswith(f"trial 0 finished with value {value:g} at step 1 (1 steps, ")
    assert "cost 2" in first
    assert first.endswith(f"{study.trials[0].config}. Best is trial 0 with {value:g}")
    assert second.startswith("trial 1 failed (0 steps, ")
    assert "ValueError: the second one" in second


def test_a_trial_that_is_dropped_from_memory_says_so_once_as_a_warning(caplog):
    def train(trial):
        for step in range(1, 100):
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9)
    with caplog.at_level(logging.INFO, "shoestring"):
        study.run(train, executor=Inline(alive=1))
    said = [record.levelname for record in caplog.records if "run again and charged" in record.getMessage()]
    assert said[0] == "WARNING"
    assert len(said) > 1
    assert set(said[1:]) == {"INFO"}


@pytest.mark.parametrize(
    "limits",
    [
        {"retries": -1}, {"retries": True}, {"trial_timeout": 0}, {"step_timeout": "5"}, {"target": float("nan")},
        {"patience": "soon"}, {"executor": 5},
    ],
    ids=str,
)  # fmt: skip
def test_bad_limits_are_refused_before_anything_is_spent(limits):
    study = study_of()
    with pytest.raises(
        (MethodError, ss.errors.BudgetError), match=next(iter(limits)) if "patience" not in limits else "soon"
    ):
        study.run(objectives.slow, **limits)
    assert not study.trials


def test_patience_needs_a_unit():
    with pytest.raises(MethodError, match="patience is 3; it must have a unit"):
        ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="5 evaluations", patience=3)
