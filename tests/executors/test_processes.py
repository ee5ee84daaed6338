"""The executors: the contract, and what goes wrong in real processes."""

import os
import signal
import time
from contextlib import suppress

import pytest

import shoestring as ss
from shoestring import compose
from shoestring.errors import EverythingFailed, MethodError, ObjectiveError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.executors.checkpoints import TrialFiles
from shoestring.samplers import Random
from shoestring.schedulers import ASHA, Full
from shoestring.testing import check_executor

from . import objectives, slow_to_load

SPACE = {"x": (0.0, 1.0)}


@pytest.mark.parametrize(
    "executor",
    [Inline(), Inline(alive=1), Simulated(1), Simulated(5), Processes(2), Processes(3, alive=1)],
    ids=repr,
)
def test_contract(executor):
    check_executor(executor)


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


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_a_deadline_ends_what_is_running(executor):
    study = ss.Study(SPACE, budget="1s", method="random", max_resource=10_000)
    study.run(objectives.stuck, executor=executor)
    assert study.spent["seconds"] <= 1.0
    assert {trial.state for trial in study.trials} == {"stopped"}
    assert study.state == "finished"


def test_seconds_are_charged_up_to_the_budget_and_no_further():
    study = run(objectives.slow, Inline(), ss.Budget(seconds=0.5), max_resource=100)
    assert 0.45 < study.spent["seconds"] <= 0.5
    assert 3 <= len(study.history.readings) <= 10


def test_a_reading_that_cannot_travel_is_a_number_all_the_same():
    study = run(objectives.unpicklable_reading, Processes(2), "3 evaluations", max_resource=1)
    assert all(trial.readings[1].value == trial.config["x"] for trial in study.trials)


def test_an_objective_that_cannot_travel_is_refused_before_anything_is_spent():
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    with pytest.raises(ObjectiveError, match="top level"):
        study.run(lambda trial: 1.0, executor=Processes(2))
    assert study.spent["evaluations"] == 0


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


def test_a_trial_let_go_without_files_starts_over_and_pays():
    def train(trial):
        assert trial.start == 0
        for step in range(1, 100):
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9)
    study.run(train, executor=Inline(alive=1))
    assert study.spent["steps"] == 60
    assert len(study.history.readings) < 60


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
    for make in (lambda: Inline(0), lambda: Simulated(0), lambda: Processes(0), lambda: Processes(2, trial_seconds=0)):
        with pytest.raises(MethodError):
            make()


def test_files_follow_the_log(tmp_path):
    files = TrialFiles(str(tmp_path / "trial-0"))
    (files.work() / "w").write_text("one")
    files.snapshot(1)
    files.snapshot(2)  # nothing changed: the state is still that of step 1
    assert files.newest(2) == 1
    (files.work() / "w").write_text("three")
    files.snapshot(3)
    assert (files.newest(2), files.newest(3)) == (1, 3), "the step before is kept until the next is logged"
    files.restore(1)
    assert (files.work() / "w").read_text() == "one"
    files.restore(0)
    assert not list(files.work().iterdir())


@pytest.fixture
def _listening():
    """Where the tests run in the background of a shell Ctrl-C is ignored; a person's process hears it."""
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


@pytest.mark.parametrize("executor", [Inline(), Simulated(2), Processes(2)], ids=repr)
def test_an_objective_that_gives_nothing_is_a_failure_and_the_study_ends(executor):
    study = ss.Study(SPACE, budget="100 steps", method="random", max_resource=9)
    with pytest.raises(EverythingFailed, match="it ended without a reading"):
        study.run(objectives.silent, executor=executor)
    assert study.spent["steps"] == 20


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


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=repr)
def test_readings_and_errors_that_cannot_even_be_shown(executor):
    study = ss.Study(SPACE, budget="12 evaluations", method="random", max_resource=2)
    study.run(objectives.awful, executor=executor)
    assert {trial.state for trial in study.trials} == {"failed", "finished"}
    assert all(len(trial.message) < 2000 for trial in study.trials)


def test_a_generator_that_closes_badly_does_not_end_the_study():
    def messy(trial):
        try:
            while True:
                yield trial.config["x"]
        finally:
            raise OSError("no disk left for the last words")

    study = ss.Study(SPACE, budget="20 steps", method="asha", max_resource=9)
    assert study.run(messy).spent["steps"] == 20


def test_links_and_pipes_among_the_files_of_a_trial(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "large").write_text("not to be copied")

    def train(trial):
        for step in range(trial.start + 1, 10):
            for name, target in (("gone", tmp_path / "missing"), ("data", data)):
                if not (trial.directory / name).is_symlink():
                    (trial.directory / name).symlink_to(target)
            if not (trial.directory / "pipe").exists():
                os.mkfifo(trial.directory / "pipe")
            (trial.directory / "step").write_text(str(step))
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9, storage=tmp_path / "a.db")
    study.run(train, executor=Inline(alive=1))
    assert study.spent["steps"] == len(study.history.readings) == 60
    assert not [p for p in (tmp_path / "a.db.files").rglob("large") if not p.parent.is_symlink()]


def test_files_left_by_another_study_of_the_same_name_are_not_taken_up(tmp_path):
    old = tmp_path / "a.db.files" / "study" / "trial-0"
    for folder in ("work", "step-3"):
        (old / folder).mkdir(parents=True)
        (old / folder / "state").write_text("of another study")

    def train(trial):
        assert not trial.start
        assert not list(trial.directory.iterdir())
        yield trial.config["x"]

    study = ss.Study(SPACE, budget="1 evaluations", method="random", max_resource=1, storage=tmp_path / "a.db")
    assert study.run(train).trials[0].state == "finished"


def test_a_study_inside_a_step_leaves_the_outer_deadline_alone():
    def outer(trial):
        inner = ss.Study(SPACE, budget="0.05s", method="random", max_resource=1000)
        inner.run(objectives.slow)
        time.sleep(1000)
        yield 1.0

    study = ss.Study(SPACE, budget="1s", method="random", max_resource=3)
    with pytest.raises(EverythingFailed, match="time ended"):
        study.run(outer)


def test_trial_seconds_do_not_count_loading():
    study = ss.Study(SPACE, budget="6 evaluations", method="random", max_resource=2)
    study.run(slow_to_load.sometimes_hanging, executor=Processes(1, trial_seconds=0.8))
    assert {trial.state for trial in study.trials} == {"failed", "finished"}
