"""Callbacks are told what is in the log, and cannot hurt the study."""

import logging

import pytest

import shoestring as ss
from shoestring.core.events import Closed, Reported
from shoestring.errors import EverythingFailed, MethodError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.schedulers import ASHA

SPACE = {"x": (0.0, 1.0)}


def train(trial):
    for step in range(1, 10):
        if trial.config["x"] > 0.7:
            raise ValueError("too large")
        yield trial.config["x"] + 1 / step


class Noting:
    def __init__(self):
        self.readings, self.ends, self.studies = [], [], 0

    def on_reading(self, study, trial, step, reading):
        assert study.events()[-1] == study.history.grants[-1] or step <= trial.step
        self.readings.append((trial.index, step, reading.value))

    def on_trial_end(self, study, trial):
        self.ends.append((trial.index, trial.state))

    def on_study_end(self, study):
        self.studies += 1


def tuned(**options):
    method = ss.compose(ss.samplers.Random(), ASHA())
    return ss.tune(train, SPACE, budget="60 steps", max_resource=9, method=method, **options)


@pytest.mark.parametrize("executor", [Inline(), Simulated(3), Processes(2)], ids=repr)
def test_they_are_told_everything_that_is_in_the_log(executor):
    noting = Noting()
    study = tuned(executor=executor, callbacks=[noting])
    reported = [(event.trial, event.step, event.value) for event in study.events() if isinstance(event, Reported)]
    assert noting.readings == reported
    closed = {(event.trial, event.how) for event in study.events() if isinstance(event, Closed)}
    finished = {(trial.index, "finished") for trial in study.trials if trial.state == "finished"}
    assert closed
    assert finished
    assert sorted(noting.ends) == sorted(closed | finished)
    assert noting.studies == 1


def test_a_function_is_called_at_the_end_of_each_trial():
    ended = []
    ss.tune(
        lambda trial: trial.config["x"], SPACE, budget="5 evaluations", method="random",
        callbacks=[lambda study, trial: ended.append((study.name, trial.index))],
    )  # fmt: skip
    assert ended == [("study", index) for index in range(5)]


def test_one_that_fails_is_logged_and_changes_nothing(caplog):
    class Broken:
        def on_reading(self, study, trial, step, reading):
            raise RuntimeError("the server is away")

        def on_trial_end(self, study, trial):
            raise RuntimeError("still away")

    noting = Noting()
    with caplog.at_level(logging.WARNING, "shoestring"):
        study = tuned(callbacks=[Broken(), noting])
    assert study.spent["steps"] == 60
    assert [r.getMessage() for r in caplog.records if "the callback Broken failed in on_reading" in r.getMessage()]
    assert caplog.text.count("the server is away") == 1, "later failures are at level INFO"
    assert noting.readings


def test_one_may_stop_the_study():
    def stop(study, trial):
        if trial.index == 3:
            study.stop("enough")

    study = ss.tune(
        lambda trial: trial.config["x"], SPACE, budget="50 evaluations", method="random", callbacks=[stop]
    )  # fmt: skip
    assert (len(study.trials), study.history.stopped) == (4, "enough")


def test_the_end_of_an_interrupted_run_is_told():
    def interrupted(trial):
        raise KeyboardInterrupt

    noting = Noting()
    with pytest.raises(KeyboardInterrupt):
        ss.tune(interrupted, SPACE, budget="5 evaluations", callbacks=[noting])
    assert noting.studies == 1
    with pytest.raises(EverythingFailed):
        ss.tune(lambda trial: 1 / 0, SPACE, budget="5 evaluations", callbacks=[noting])
    assert noting.studies == 2


@pytest.mark.parametrize("wrong", [3, "csv", [3], [Noting]])
def test_what_is_no_callback_is_refused(wrong):
    with pytest.raises(MethodError, match="callback"):
        tuned(callbacks=wrong)


def test_a_trial_that_cannot_be_paid_for_again_has_ended_too(caplog):
    def without_checkpoints(trial):
        for step in range(trial.start + 1, 5):
            trial.report(trial.config["x"] / step, step=step)

    ended = []
    options = {"budget": "30 steps", "max_resource": 4, "callbacks": [lambda _, trial: ended.append(trial.index)]}
    study = ss.tune(without_checkpoints, {"x": (0.0, 1.0)}, **options)
    lost = [trial.index for trial in study.trials if trial.state == "lost"]
    assert lost
    assert set(lost) <= set(ended)
    assert "is lost, and the study goes on: it would have to run" in caplog.text
    assert f"({len(lost)} lost)" in repr(study)
