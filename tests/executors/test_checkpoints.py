"""The files of a trial follow the log."""

import os
import time

import pytest

import shoestring as ss
from shoestring.core.history import TrialRecord
from shoestring.errors import ReadingError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.executors.checkpoints import TrialFiles, checkpoint_of

SPACE = {"x": (0.0, 1.0)}


def test_files_follow_the_log(tmp_path):
    files = TrialFiles(str(tmp_path / "trial-0"))
    (files.work() / "w").write_text("one")
    files.snapshot(1)
    files.snapshot(2)  # nothing changed: the state is still that of step 1
    assert files.newest(2) == 1
    (files.work() / "w").write_text("three")
    files.snapshot(3)
    assert (files.newest(2), files.newest(3)) == (1, 3), "the step before is kept until the next is logged"
    files.snapshot(4)
    files.restore(1)
    assert (files.work() / "w").read_text() == "one"
    assert files.newest(9) == 1, "what the log does not know of is gone"
    files.restore(0)
    assert not list(files.work().iterdir())


def written(folder, *steps):
    files = TrialFiles(str(folder / "trial-0"))
    for step in steps:
        (files.work() / "w").write_text(str(step))
        files.snapshot(step)
    return files


def kept(files):
    return [step for step in range(20) if files.snapshot_of(step).exists()]


@pytest.mark.parametrize(
    ("known", "recommended", "left"),
    [
        (5, 5, [5, 6]),  # the reading of step 6 is not in the log yet
        (6, 2, [2, 6]),
        (6, 4, [3, 6]),  # nothing was written at step 4
        (4, 3, [3, 5, 6]),
        (6, 0, [6]),
    ],
)
def test_what_is_kept_of_a_trial_that_goes_on(tmp_path, known, recommended, left):
    files = written(tmp_path, 1, 2, 3, 5, 6)
    files.prune(known, recommended)
    assert kept(files) == left


def test_what_is_kept_of_a_trial_that_ended(tmp_path):
    files = written(tmp_path, 1, 2, 3, 5, 6)
    files.prune_ended(4)
    assert kept(files) == [3]
    files.prune_ended(None)
    assert kept(files) == []


def trial_at(step, state):
    return TrialRecord(0, 0, 0, 0, {}, "w", 0, 9, 0.0, state=state, step=step)


@pytest.mark.parametrize(
    ("snapshots", "last", "state", "step", "found"),
    [
        ([2, 4], 4, "running", 4, "step-4"),
        ([2, 4], 5, "paused", 3, "step-2"),
        ([4], 5, "paused", 3, None),
        ([], 6, "finished", 6, "work"),
        ([], 6, "finished", 5, None),
        ([2], 6, "finished", 6, "work"),  # its own recommended step is 2, and the mean of the replicates decides
        ([2], 6, "failed", 6, "work"),
        ([6], 6, "failed", 6, "step-6"),
        ([], 6, "failed", 6, None),  # what is there was written in the step that failed
    ],
)
def test_where_the_files_of_a_step_are(tmp_path, snapshots, last, state, step, found):
    written(tmp_path, *snapshots).work().joinpath("w").write_text("later")
    folder = checkpoint_of(tmp_path, trial_at(last, state), step)
    assert (folder and folder.name) == found


def test_a_finished_trial_without_files_has_no_checkpoint(tmp_path):
    assert checkpoint_of(tmp_path, trial_at(6, "finished"), 6) is None
    written(tmp_path).work()
    assert checkpoint_of(tmp_path, trial_at(6, "finished"), 6) is None


def test_of_replicates_the_checkpoint_is_that_of_the_compared_step():
    method = ss.compose(ss.samplers.Random(), ss.schedulers.SubSampling(arms=2))
    study = ss.Study(SPACE, budget="60 steps", method=method, max_resource=9).run(overfitting)
    assert len(study.trials) > len(study.history.arms)
    assert study.best.step == 9 > study.trials[study.best.trial].recommended.step
    assert (study.directory(best=True) / "w").read_text() == "9"


def overfitting(trial):
    for step in range(trial.start + 1, 10):
        (trial.directory / "w").write_text(str(step))
        yield (step - 4) ** 2 + trial.config["x"]


def raising(trial):
    for step, loss in enumerate(overfitting(trial), trial.start + 1):
        if step == 7:
            raise RuntimeError("at step 7")
        yield loss


@pytest.mark.parametrize("executor", [Inline(), Inline(alive=1), Processes(2), Simulated(2)], ids=repr)
@pytest.mark.parametrize("objective", [overfitting, raising])
def test_the_checkpoint_of_the_best_step_is_kept_while_the_trial_is_trained_on(tmp_path, executor, objective):
    options = {"method": "asha", "max_resource": 9, "storage": tmp_path / "a.db", "recommend": "best"}
    for steps in (30, 60):
        study = ss.tune(objective, SPACE, budget=f"{steps} steps", executor=executor, **options)
    assert study.best.step == 4 < study.trials[study.best.trial].step
    assert (study.directory(best=True) / "w").read_text() == "4"
    assert (ss.Study.load(tmp_path / "a.db").directory(best=True) / "w").read_text() == "4"
    for trial in study.trials:
        folders = sorted(path.name for path in study.directory(trial.index).parent.iterdir())
        assert len(folders) <= (3 if trial.state == "paused" else 2), folders
        if trial.state == "failed":
            assert (study.directory(trial.index) / "w").read_text() == "6"


@pytest.mark.parametrize(("rule", "step"), [("best", 4), ("median", 6), ("last", 9)])
def test_each_rule_keeps_its_own_step(rule, step):
    def rewarded(trial):
        yield from (-loss for loss in overfitting(trial))

    study = ss.Study(SPACE, budget="9 steps", method="random", max_resource=9, mode="max", recommend=rule)
    study.run(rewarded)
    assert study.best.step == step
    assert (study.directory(best=True) / "w").read_text() == str(step)


def test_the_checkpoint_while_the_trial_is_running(tmp_path):
    seen = []

    def train(trial):
        for step, loss in enumerate(overfitting(trial), 1):
            if step > 1:
                folder = ss.Study.load(tmp_path / "a.db").directory(best=True)
                seen.append((folder / "w").read_text())
            yield loss

    options = {"method": "random", "max_resource": 9, "storage": tmp_path / "a.db", "recommend": "best"}
    ss.tune(train, SPACE, budget="9 steps", **options)
    assert seen == ["1", "2", "3", "4", "4", "4", "4", "4"]


def test_without_files_up_to_the_best_step_it_says_what_to_do():
    def late(trial):
        for step in range(1, 10):
            if step > 5:
                (trial.directory / "w").write_text(str(step))
            yield (step - 4) ** 2

    study = ss.tune(late, SPACE, budget="9 steps", method="random", max_resource=9, recommend="best")
    with pytest.raises(ReadingError, match=r"no files .* up to step 4: save a checkpoint"):
        study.directory(best=True)


def test_an_interrupted_step_leaves_no_trace_in_the_files(tmp_path):
    def train(trial):
        (trial.directory / "w").write_text("whole")
        yield 1.0
        (trial.directory / "w").write_text("hal")
        time.sleep(100)

    study = ss.tune(train, SPACE, budget="1s", method="random", max_resource=9, storage=tmp_path / "a.db")
    assert study.trials[0].state == "stopped"
    assert (study.directory(0) / "w").read_text() == (study.directory(best=True) / "w").read_text() == "whole"


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
