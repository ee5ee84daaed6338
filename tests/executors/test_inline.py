"""Trials in this very process: what is let go, what interrupts it, what it is charged."""

import signal
import sys
import time
from contextlib import suppress
from itertools import count

import pytest

import shoestring as ss
from shoestring.core.workers import ticks
from shoestring.errors import EverythingFailed
from shoestring.executors import Inline, inline
from shoestring.objectives.job import Job
from shoestring.objectives.unwinding import TimeIsUp

from . import objectives

SPACE = {"x": (0.0, 1.0)}
# The alarm of a deadline may ring inside a finalizer, where Python ignores what it raises; it is repeated.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")


def run(objective, executor, budget, max_resource=2):
    study = ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource)
    return study.run(objective, executor=executor)


def test_seconds_are_charged_up_to_the_budget_and_no_further():
    study = run(objectives.slow, Inline(), ss.Budget(seconds=2), max_resource=100)
    assert 1.8 < study.spent["seconds"] <= 2
    assert 3 <= len(study.history.readings) <= 40


def test_inline_lets_the_longest_paused_go_and_takes_it_up_again():
    starts = []

    def train(trial):
        starts.append(trial.start)
        step = trial.start
        while True:
            step += 1
            (trial.directory / "step").write_text(str(step))
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9)
    study.run(train, executor=Inline(alive=1))
    assert any(starts), "no trial was taken up from its files"
    assert study.spent["steps"] == 60


def test_short_trials_do_not_displace_a_long_one(tmp_path):
    """Five of one step pass while two longer ones are paused; the longer ones go in the end."""

    def train(trial):
        for step in range(trial.start + 1, 10):
            yield trial.config["x"] + step

    def held(steps):
        session = Inline(alive=3).open(train, tmp_path)
        for trial, until in enumerate(steps):
            session.submit(Job(trial, trial, 0, {"x": 0.5}, seed=0, start=0, until=until, known=0))
            for _ in range(until):
                session.collect(None)
        return [trial for trial, until in enumerate(steps) if session.resume_from(trial, until) == until]

    assert held([4, 3, 1, 1, 1]) == [0, 1, 4]
    assert held([4, 3] + 20 * [1]) == [19, 20, 21]


def test_a_trial_let_go_without_files_starts_over_and_pays():
    def train(trial):
        assert trial.start == 0
        for step in range(1, 100):
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9)
    study.run(train, executor=Inline(alive=1))
    assert study.spent["steps"] == 60
    assert len(study.history.readings) < 60


@pytest.fixture
def _listening():
    """Restore Ctrl-C, which is ignored if the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_listening")
def test_ctrl_c_that_a_library_swallows_still_ends_the_run_and_gives_no_reading():
    def train(trial):
        for _ in range(9):
            if len(study.history.readings) == 4:
                with suppress(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
            yield trial.config["x"]

    study = ss.Study(SPACE, budget="30 steps", method="random", max_resource=9)
    with pytest.raises(KeyboardInterrupt):
        study.run(train)
    assert len(study.history.readings) == 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_fails_while_it_runs_steps_again_is_charged_once():
    seen = {}

    def fragile(trial):
        seen[trial.config["x"]] = seen.get(trial.config["x"], 0) + 1
        if seen[trial.config["x"]] == 3:
            raise RuntimeError("the third start always breaks")
        for step in range(1, 28):
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="150 steps", method="asha", max_resource=27)
    study.run(fragile, executor=Inline(alive=1))
    assert any("third start" in trial.message for trial in study.trials)
    assert study.spent["steps"] == 150


def test_a_generator_that_closes_badly_does_not_end_the_study():
    def messy(trial):
        try:
            while True:
                yield trial.config["x"]
        finally:
            raise OSError("no disk left for the last words")

    study = ss.Study(SPACE, budget="20 steps", method="asha", max_resource=9)
    assert study.run(messy).spent["steps"] == 20


def test_a_study_inside_a_step_leaves_the_outer_deadline_alone():
    def outer(trial):
        inner = ss.Study(SPACE, budget="0.05s", method="random", max_resource=1000)
        inner.run(objectives.slow)
        time.sleep(1000)
        yield 1.0

    study = ss.Study(SPACE, budget="1s", method="random", max_resource=3)
    with pytest.raises(EverythingFailed, match="time ended"):
        study.run(outer)


def test_an_alarm_at_any_moment_leaves_no_timer_behind():
    """It may ring before the step has started, and after it has ended, when the timer is being switched off."""

    def harmless(*_):
        pass

    def ring_at(line):
        lines = count()

        def trace(frame, event, _):
            if event == "line" and next(lines) == line:
                signal.raise_signal(signal.SIGALRM)
            return trace if frame.f_code.co_filename == inline.__file__ else None

        return trace, lines

    outside, tracing = signal.signal(signal.SIGALRM, harmless), sys.gettrace()
    try:
        line, lines = -1, count()
        while next(lines) >= line:
            line += 1
            trace, lines = ring_at(line)
            sys.settrace(trace)
            with suppress(TimeIsUp):
                inline.interrupt_at(ticks() + 100, lambda: None)
            sys.settrace(tracing)
            assert signal.getsignal(signal.SIGALRM) is harmless
            assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGALRM, outside)
    assert line > 10


def test_a_deadline_that_has_passed_is_noticed_at_once():
    with pytest.raises(TimeIsUp):
        inline.interrupt_at(ticks() - 1, lambda: time.sleep(30))
