"""The files of a trial follow the log."""

import errno
import os
import shutil
import time

import pytest

import shoestring as ss
from shoestring.core.events import Released
from shoestring.core.history import TrialRecord
from shoestring.errors import EverythingFailed, MethodError, ReadingError, StorageError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.logs.sqlite import SqliteLog
from shoestring.objectives.folders import disk_use
from shoestring.objectives.trial_files import TrialFiles, checkpoint_of
from shoestring.running.retention import Retention

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
    files.prune(known, [recommended])
    assert kept(files) == left


def test_what_is_kept_of_a_trial_that_ended(tmp_path):
    files = written(tmp_path, 1, 2, 3, 5, 6)
    files.prune(5, [4], ended=True)
    assert kept(files) == [3, 5], "the reading of step 6 never reached the log"


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
        ([2], 6, "failed", 6, "step-2"),
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
    for steps in (30, *range(60, 80)):
        study = ss.tune(objective, SPACE, budget=f"{steps} steps", executor=executor, **options)
        if steps >= 60 and study.trials[study.best.trial].step > 4:  # with workers the budget may end just there
            break
    assert study.best.step == 4 < study.trials[study.best.trial].step
    assert (study.directory(best=True) / "w").read_text() == "4"
    assert (ss.Study.load(tmp_path / "a.db").directory(best=True) / "w").read_text() == "4"
    ended = 0
    for folder in (tmp_path / "a.db.files" / "study").iterdir():
        trial = study.trials[int(folder.name.removeprefix("trial-"))]
        ended += trial.state != "paused"
        expected = {4, trial.step} if trial.step > 4 else {trial.step}
        assert {path.name for path in folder.iterdir()} == {f"step-{step}" for step in expected}
        assert (folder / f"step-{trial.step}" / "w").read_text() == str(trial.step)
    assert ended == min(3, sum(trial.state != "paused" for trial in study.trials))


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

    study = ss.tune(train, SPACE, budget="2s", method="random", max_resource=9, storage=tmp_path / "a.db")
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


def writing(trial):
    for step in range(trial.start + 1, 10):
        (trial.directory / "w").write_text(str(step))
        yield trial.config["x"]


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_after_three(trial):
    """Works three steps, then the disk is full for as long as there is a file that says so."""
    for step, value in enumerate(writing(trial), trial.start + 1):
        if step == 4 and (trial.directory.parents[3] / "full").exists():
            with open("/dev/full", "w") as disk:
                disk.write("a checkpoint")
        yield value


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=["inline", "processes"])
def test_a_full_disk_stops_the_run_charges_nothing_and_the_study_continues(tmp_path, executor):
    options = {"method": "random", "max_resource": 9, "storage": tmp_path / "a.db", "executor": executor}
    (tmp_path / "full").touch()
    for _ in range(3):
        with pytest.raises(StorageError, match=r"No space left.*run it again"):
            ss.tune(full_after_three, SPACE, budget="45 steps", **options)
    stopped = ss.Study.load(tmp_path / "a.db")
    assert stopped.spent.steps == sum(trial.step for trial in stopped.trials)
    assert not stopped.history.closings
    (tmp_path / "full").unlink()
    study = ss.tune(full_after_three, SPACE, budget="45 steps", **options)
    assert [(trial.state, trial.step) for trial in study.trials] == [("finished", 9)] * 5
    assert study.spent.steps == 45


@pytest.mark.parametrize("executor", [Inline(), Processes(1)], ids=["inline", "processes"])
def test_a_worker_whose_trial_was_taken_over_leaves_no_folder_behind(tmp_path, executor):
    def taken_over(trial):
        for step, value in enumerate(writing(trial), trial.start + 1):
            if (trial.index, step) == (0, 2):
                other = ss.Study.load(tmp_path / "a.db")
                other.release(0)
                other.tell(other.ask(), {9: 0.5})
            yield value

    study = ss.Study(SPACE, budget="27 steps", method="random", max_resource=9, storage=tmp_path / "a.db")
    study.run(taken_over, executor=executor)
    assert study.trials[0].holders > 0
    assert (study.trials[0].state, study.trials[0].readings[9].value) == ("finished", 0.5)
    assert not list(tmp_path.glob("a.db.files/*/trial-0/work*"))


def test_trials_are_let_go_of_when_there_is_room_to_say_so(tmp_path, monkeypatch):
    """On a full disk the database cannot be written either, until unneeded files are deleted."""
    append, clean_up, room = SqliteLog.append, Retention.clean_up, []

    def full(log, study, events, expect):
        if isinstance(events[0], Released) and not room:
            raise StorageError("the storage is full")
        append(log, study, events, expect)

    monkeypatch.setattr(SqliteLog, "append", full)
    monkeypatch.setattr(Retention, "clean_up", lambda *given: room.append(clean_up(*given)))
    (tmp_path / "full").touch()
    with pytest.raises(StorageError, match="No space left"):
        ss.tune(full_after_three, SPACE, budget="45 steps", method="random", max_resource=9, storage=tmp_path / "a.db")
    assert isinstance(ss.Study.load(tmp_path / "a.db").events()[-1], Released)


def test_so_does_one_that_fills_up_while_we_copy(tmp_path, monkeypatch):
    options = {"method": "random", "max_resource": 9, "storage": tmp_path / "a.db"}
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", no_room)
        with pytest.raises(StorageError, match="cannot be copied: No space left"):
            ss.tune(writing, SPACE, budget="18 steps", **options)
    stopped = ss.Study.load(tmp_path / "a.db")
    assert (stopped.spent.steps, len(stopped.history.closings)) == (0, 0)
    assert not list(tmp_path.glob("a.db.files/*/*/partial*"))
    assert ss.tune(writing, SPACE, budget="18 steps", **options).spent.steps == 18


def test_an_error_that_is_none_of_the_disks_fails_the_trial():
    def objective(trial):
        (trial.directory / "missing" / "w").write_text("x")

    with pytest.raises(EverythingFailed, match="FileNotFoundError"):
        ss.tune(objective, SPACE, budget="3 evaluations", method="random")


@pytest.mark.parametrize(("keep", "left"), [(0, 1), (2, 2), (None, 6)])
def test_ended_trials_keep_their_files_only_if_they_are_among_the_best(tmp_path, keep, left):
    study = ss.tune(
        writing, SPACE, budget="54 steps", method="random", max_resource=9, storage=tmp_path / "a.db", keep=keep
    )
    folders = {int(path.name.removeprefix("trial-")) for path in (tmp_path / "a.db.files" / "study").iterdir()}
    best = sorted(range(6), key=lambda index: study.trials[index].readings[9].value)
    assert folders == set(best[:left])
    assert (study.directory(best=True) / "w").read_text() == "9"
    if left < 6:
        assert not list(study.directory(best[-1]).iterdir())


def test_a_trial_that_was_told_has_a_folder_to_write_to():
    study = ss.Study(SPACE, budget="1 evaluations", method="random")
    study.tell(study.ask(), 1.0)
    (study.directory(0) / "model").write_text("by the user")
    assert (study.directory(0) / "model").read_text() == "by the user"


def test_keep_is_checked():
    with pytest.raises(MethodError, match="keep is -1"):
        ss.tune(writing, SPACE, budget="9 steps", method="random", max_resource=9, keep=-1)


def test_at_the_end_no_file_is_there_twice(tmp_path):
    study = ss.tune(writing, SPACE, budget="30 steps", method="asha", max_resource=9, storage=tmp_path / "a.db")
    assert any(trial.state == "paused" for trial in study.trials)
    files = [path.read_text() for path in (tmp_path / "a.db.files").rglob("w")]
    steps = [{trial.step, trial.recommended.step} for trial in study.trials]
    assert len(files) <= sum(map(len, steps))
    again = ss.tune(writing, SPACE, budget="60 steps", method="asha", max_resource=9, storage=tmp_path / "a.db")
    assert again.spent.steps == 60
    assert not [event for event in again.events() if event.kind == "adopted"], "no step was run again"


def test_content_is_shared_where_the_file_system_can(tmp_path, monkeypatch):
    """If it cannot clone, as most file systems in tests, the ioctl fails and the content is copied."""
    shared = []

    def clone(target, request, source):
        shared.append(request)
        os.write(target, os.read(source, 100))

    monkeypatch.setattr("shoestring.objectives.folders.ioctl", clone)
    monkeypatch.setattr(shutil, "copyfileobj", no_room)
    files = written(tmp_path, 1)
    assert (files.snapshot_of(1) / "w").read_text() == "1"
    assert len(shared) == 1
    (files.work() / "w").write_text("2")
    assert (files.snapshot_of(1) / "w").read_text() == "1"


@pytest.mark.parametrize("name", ["step-²", "step-2"])
def test_names_that_are_no_snapshots_are_ignored(tmp_path, name):
    files = written(tmp_path, 1)
    (tmp_path / "trial-0" / name).write_text("a file of that name")
    assert files.newest(9) == 1
    files.prune(1, [1])
    (files.work() / "w").write_text("two")
    files.snapshot(2)
    assert (files.snapshot_of(2) / "w").read_text() == "two"


def test_disk_use_counts_what_is_on_the_disk(tmp_path):
    assert disk_use(tmp_path / "missing") == 0
    (tmp_path / "a").write_bytes(bytes(100_000))
    os.link(tmp_path / "a", tmp_path / "b")
    assert 100_000 <= disk_use(tmp_path) < 200_000
