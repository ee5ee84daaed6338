"""Functions that report: one call for each grant, unwound where it ends, whatever the function does about it."""

import logging
import os
import re
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.errors import EverythingFailed, ObjectiveError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.samplers import Random
from shoestring.schedulers import ASHA, Full

SPACE = {"x": (0.0, 1.0)}
EXECUTORS = [Inline(), Simulated(3), Processes(2)]


def tuned(objective, *, budget="40 steps", max_resource=9, scheduler=None, **options):
    method = ss.compose(Random(), scheduler or ASHA())
    return ss.tune(objective, SPACE, budget=budget, max_resource=max_resource, method=method, **options)


def readings(study):
    return [[reading.value for reading in trial.readings.values()] for trial in study.trials]


@dataclass(frozen=True)
class Noting:
    """Notes every call and every end in a file, and saves a checkpoint at every step."""

    notes: Path

    def note(self, word, trial):
        with (self.notes / f"{trial.seed}").open("a") as file:
            file.write(f"{word} {trial.start}\n")

    def __call__(self, trial):
        self.note("called", trial)
        state = trial.checkpoint.load() or {"steps": 0}
        assert state["steps"] == trial.start
        try:
            for step in range(trial.start + 1, 10):
                state["steps"] += 1
                trial.checkpoint.save(state)
                trial.report(trial.config["x"] + 1 / step, step=step, cost=0.5, twice=2.0 * step)
        finally:
            self.note("ended", trial)


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
def test_the_function_is_called_once_for_each_grant_and_unwound_at_its_end(executor, tmp_path):
    (tmp_path / "notes").mkdir()
    study = tuned(Noting(tmp_path / "notes"), executor=executor, storage=tmp_path / "study.db")
    assert study.spent["steps"] == 40
    assert study.spent["cost"] == 20
    for trial in study.trials:
        grants = [grant.start for grant in study.history.grants if grant.trial == trial.index]
        expected = [line for start in grants for line in (f"called {start}", f"ended {start}")]
        assert (tmp_path / "notes" / str(trial.seed)).read_text().splitlines() == expected
        assert [reading.metrics["twice"] for reading in trial.readings.values()] == [
            2.0 * step for step in range(1, trial.step + 1)
        ]
    assert max(len([g for g in study.history.grants if g.trial == t.index]) for t in study.trials) > 1


def test_generators_and_functions_give_the_same_study():
    def generator(trial):
        for step in range(1, 10):
            yield trial.config["x"] + 1 / step

    def function(trial):
        for reading in generator(trial):
            trial.report(reading)

    assert readings(tuned(function, executor=Simulated(4))) == readings(tuned(generator, executor=Simulated(4)))


def test_auto_picks_an_iterative_method(caplog):
    def train(trial):
        for step in range(1, 10):
            trial.report(trial.config["x"] + 1 / step)

    with caplog.at_level(logging.INFO, "shoestring"):
        study = ss.tune(train, SPACE, budget="60 steps", max_resource=9)
    assert "auto picked forecast" in caplog.text
    assert study.best.value < 1.2


def test_a_trial_without_checkpoints_pays_for_its_steps_again(caplog):
    starts = []

    def train(trial):
        starts.append(trial.start)
        for step in range(1, 10):
            trial.report(trial.config["x"] + 1 / step, step=step)

    study = tuned(train, budget="60 steps")
    assert set(starts) == {0}
    assert study.spent["steps"] == 60 > sum(trial.step for trial in study.trials)
    assert "trial.checkpoint.save" in caplog.text


def test_a_function_without_max_resource_may_report_once_instead_of_returning():
    threads = set()

    def train(trial):
        threads.add(threading.current_thread())
        trial.report(trial.config["x"], cost=2.0)
        raise AssertionError("it goes on")

    study = ss.tune(train, SPACE, budget="10 evaluations", method="random")
    assert readings(study) == [[trial.config["x"]] for trial in study.trials]
    assert study.spent["cost"] == 20
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
@pytest.mark.parametrize("kind", ["early", "returns", "both"])
def test_functions_that_return(executor, kind, caplog):
    def train(trial):
        for step in (1, 2) if kind != "returns" else ():
            trial.report(1 / step)
        return None if kind == "early" else 0.3

    study = tuned(train, budget="4 evaluations", scheduler=Full(), executor=executor)
    assert {trial.state for trial in study.trials} == {"finished"}
    assert readings(study) == 4 * [[0.3] if kind == "returns" else [1.0, 0.5]]
    if not isinstance(executor, Processes):  # whose log lines are those of the worker
        assert ("is ignored" in caplog.text) == (kind == "both")
        assert ("reported no step" in caplog.text) == (kind == "returns")


def test_a_function_that_does_nothing_fails():
    def train(trial):
        if trial.config["x"] > 2:
            trial.report(1.0)

    with pytest.raises(EverythingFailed, match="ended without a reading"):
        tuned(train, budget="3 evaluations", scheduler=Full())


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((0, 1), "step 0 was reported and step 1 is due.*from 1"),
        ((1, 3), "step 3 was reported and step 2 is due.*leave step= out"),
        ((1, 1), "step 1 was reported and step 2 is due"),
        ((None, 2.0, "3"), "step '3' was reported and step 3 is due"),
    ],
)
def test_steps_are_reported_in_order(steps, message):
    def train(trial):
        for step in steps:
            try:
                trial.report(1.0, step=step)
            except Exception as error:
                raise AssertionError("the function must not see this error") from error

    study = ss.Study(SPACE, budget="3 evaluations", max_resource=9, method=ss.compose(Random(), Full()))
    with suppress(EverythingFailed):
        study.run(train)
    for trial in study.trials:
        assert re.search(message, trial.message)


def test_a_resumed_function_that_starts_over_is_noticed():
    def train(trial):
        for step in range(1, 10):
            (trial.directory / "events.txt").write_text(str(step))  # not a checkpoint
            trial.report(trial.config["x"], step=step)

    study = tuned(train)
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert failed
    assert all("continues after step 1: load its checkpoint" in trial.message for trial in failed)


def test_loading_a_checkpoint_that_was_never_saved():
    def train(trial):
        trial.checkpoint.load()
        while True:
            (trial.directory / "events.txt").write_text("not a checkpoint")
            trial.report(trial.config["x"])

    failed = [trial for trial in tuned(train).trials if trial.state == "failed"]
    assert failed
    assert all("no checkpoint is among them" in trial.message for trial in failed)


@pytest.mark.parametrize("executor", EXECUTORS, ids=repr)
@pytest.mark.parametrize("forever", [False, True])
def test_a_function_that_catches_everything(executor, forever, caplog):
    def train(trial):
        step = trial.start
        while forever or step < 9:
            step += 1
            (trial.directory / "step").write_text(str(step))
            with suppress(BaseException):
                trial.report(trial.config["x"] + 1 / step)

    study = tuned(train, executor=executor)
    assert study.spent["steps"] == 40
    assert not [trial.message for trial in study.trials if trial.message]
    if not isinstance(executor, Processes):
        assert "Write `except Exception:`" in caplog.text


def test_an_exception_in_place_of_ours_ends_the_grant(caplog):
    """As a framework raises that turns every exception into its own."""

    def train(trial):
        for step in range(trial.start + 1, 10):
            (trial.directory / "step").write_text(str(step))
            try:
                trial.report(trial.config["x"] + 1 / step)
            except BaseException as error:
                raise RuntimeError("training was stopped") from error

    study = tuned(train)
    assert study.spent["steps"] == 40
    assert {trial.state for trial in study.trials} <= {"paused", "finished"}
    assert "raised when its grant ended: RuntimeError: training was stopped" in caplog.text


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit("broken"), StopIteration("broken")], ids=repr)
def test_exceptions(error):
    def train(trial):
        trial.report(1.0)
        raise error

    study = tuned(train, budget="4 evaluations", scheduler=Full())
    assert {trial.state for trial in study.trials} == {"failed"}
    assert all("(test_reporting.py:" in t.message or "StopIteration" in t.message for t in study.trials)
    assert readings(study) == 4 * [[1.0]]


@pytest.mark.parametrize("bad", [float("nan"), "high", None])
def test_bad_values_fail_the_trial(bad):
    ended = []

    def train(trial):
        try:
            for step in range(1, 10):
                trial.report(bad if step == 3 else 1.0)
        finally:
            ended.append(trial.arm)

    study = tuned(train, budget="4 evaluations", scheduler=Full())
    assert [trial.state for trial in study.trials] == 4 * ["failed"]
    assert readings(study) == 4 * [[1.0, 1.0]]
    assert ended == [0, 1, 2, 3]


def test_a_generator_is_told_to_yield():
    def train(trial):
        yield 1.0
        trial.report(0.5)

    study = tuned(train, budget="2 evaluations", scheduler=Full())
    assert "yield the reading" in study.trials[0].message


def test_a_function_that_makes_a_generator():
    study = tuned(lambda trial: (trial.config["x"] + 1 / step for step in range(1, 10)))
    assert study.spent["steps"] == 40


def test_functions_that_cannot_report_are_refused_at_once():
    def returns(trial):
        return trial.config["x"] + trial.seed

    def hands_on(trial):
        return returns(trial)

    for objective in (returns, abs, lambda t: t.config["x"]):
        with pytest.raises(ObjectiveError, match=r"trial\.report"):
            tuned(objective)
    assert tuned(hands_on, budget="2 evaluations").trials  # it might have reported


def reports_in_a_forked_process(trial):
    if os.fork() == 0:
        trial.report(-1.0)
    time.sleep(0.05)
    trial.report(1.0)
    trial.report(0.5)


def test_a_forked_process_reports_nothing():
    study = tuned(reports_in_a_forked_process, budget="2 evaluations", max_resource=2, scheduler=Full())
    assert readings(study) == 2 * [[1.0, 0.5]]


def test_timeouts_interrupt_the_function():
    ended = []

    def train(trial):
        try:
            trial.report(1.0)
            while trial.config["x"] < 2:
                time.sleep(0.01)
        finally:
            ended.append(trial.arm)

    study = tuned(train, budget="2 evaluations", scheduler=Full(), step_timeout=1.5)
    assert ["step 2 took longer" in trial.message for trial in study.trials] == [True, True]
    assert ended == [0, 1]


def test_a_function_that_reports_too_late_has_caught_nothing(caplog):
    def train(trial):
        for _ in range(9):
            time.sleep(0.15)
            trial.report(1.0)

    with pytest.raises(EverythingFailed):
        tuned(train, budget="2 evaluations", scheduler=Full(), step_timeout=0.05)
    assert "catches the exception" not in caplog.text


def test_a_function_that_is_stopped_between_two_steps_cleans_up_undisturbed(monkeypatch):
    monkeypatch.setattr("shoestring.objectives.reporting._AGAIN", 0.01)
    ended = []

    def train(trial):
        try:
            for step in range(1, 10):
                trial.report(1 / step)
        finally:
            for _ in range(20):
                time.sleep(0.01)
            ended.append(trial.arm)

    study = tuned(train, scheduler=Full(), target=0.5)
    assert [trial.state for trial in study.trials] == ["stopped"]
    assert ended == [0]


def test_a_function_that_cannot_be_interrupted_is_left_behind(monkeypatch, caplog):
    monkeypatch.setattr("shoestring.objectives.reporting._PATIENCE", 0.3)
    woken = threading.Event()

    def train(trial):
        trial.report(1.0)
        woken.wait(60)  # Python raises in a thread only between two of its lines
        trial.report(0.5)

    before = threading.active_count()
    study = tuned(train, budget="1 evaluations", scheduler=Full(), step_timeout=1.5)
    assert "is left behind" in caplog.text
    assert readings(study) == [[1.0]]
    woken.set()
    while threading.active_count() > before:
        time.sleep(0.01)


def test_ctrl_c_ends_the_function_and_the_study_continues(tmp_path):
    ended = []

    def train(trial):
        try:
            for step in range(trial.start + 1, 10):
                (trial.directory / "step").write_text(str(step))
                if not ended and step == 3:
                    os.kill(os.getpid(), signal.SIGINT)
                    while True:
                        time.sleep(0.01)
                trial.report(trial.config["x"] + 1 / step)
        finally:
            ended.append(trial.start)

    with pytest.raises(KeyboardInterrupt):
        tuned(train, scheduler=Full(), storage=tmp_path / "study.db")
    assert ended == [0]
    study = tuned(train, scheduler=Full(), storage=tmp_path / "study.db")
    assert study.spent["steps"] == 40
    assert ended[1] == 2


def test_no_thread_is_left():
    def train(trial):
        for step in range(1, 10):
            trial.report(trial.config["x"] + 1 / step)

    before = set(threading.enumerate())
    tuned(train, executor=Simulated(5), budget="100 steps")
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_a_function_without_max_resource_may_report_its_one_value_and_no_second(executor):
    def once(trial):
        trial.report(trial.config["x"], twice=2.0)
        return 5.0  # a reported value counts

    def epochs(trial):
        for epoch in range(1, 10):
            trial.report(1 / epoch)

    study = ss.tune(once, SPACE, budget="3 evaluations", method="random", executor=executor)
    assert readings(study) == [[trial.config["x"]] for trial in study.trials]
    with pytest.raises(EverythingFailed, match="more than one step: say how many steps a trial can have, max_resource"):
        ss.tune(epochs, SPACE, budget="3 evaluations", method="random", executor=executor)


@pytest.mark.parametrize("used", [lambda trial: trial.x, lambda trial: trial["x"]], ids=["attribute", "item"])
def test_a_parameter_is_found_in_the_configuration(used):
    with pytest.raises(EverythingFailed, match=re.escape("write trial.config['x']")):
        ss.tune(used, SPACE, budget="2 evaluations", method="random")
