"""Faults of a trial's storage stop the run, and cost nothing; the same errors elsewhere are the trial's."""

import errno
import os
import subprocess

import pytest

import shoestring as ss
from shoestring.errors import EverythingFailed, StorageError
from shoestring.executors import Inline, Processes
from shoestring.objectives import disk, trial_files
from shoestring.objectives.disk import disk_fault

SPACE = {"x": (0.0, 1.0)}
FAULTS = ["ESTALE", "ETIMEDOUT", "EREMOTEIO", "EMFILE", "ENFILE", "EACCES", "ENOTDIR"]


class Faulty:
    """Works three steps, then its storage fails for as long as there is a file that says so."""

    def __init__(self, folder, name):
        self.mark, self.number = folder / "broken", getattr(errno, name)

    def __call__(self, trial):
        for step in range(trial.start + 1, 10):
            if step == 4 and self.mark.exists():
                raise OSError(self.number, os.strerror(self.number), str(trial.directory / "w"))
            (trial.directory / "w").write_text(str(step))
            yield trial.config["x"]


@pytest.mark.parametrize("executor", [Inline(), Processes(2)], ids=["inline", "processes"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_storage_stops_the_run_and_charges_nothing(tmp_path, name, executor):
    options = {"method": "random", "max_resource": 9, "storage": tmp_path / "a.db", "executor": executor}
    objective = Faulty(tmp_path, name)
    objective.mark.touch()
    with pytest.raises(StorageError, match="run it again"):
        ss.tune(objective, SPACE, budget="18 steps", **options)
    stopped = ss.Study.load(tmp_path / "a.db")
    assert not stopped.history.closings
    assert stopped.spent.steps == sum(trial.step for trial in stopped.trials)
    objective.mark.unlink()
    study = ss.tune(objective, SPACE, budget="18 steps", **options)
    assert [(trial.state, trial.step) for trial in study.trials] == [("finished", 9)] * 2


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_error_elsewhere_fails_the_trial(name):
    number = getattr(errno, name)

    def objective(trial):
        if trial.index == 1:
            raise OSError(number, os.strerror(number), "/data/images")
        return trial.config["x"]

    study = ss.tune(objective, SPACE, budget="3 evaluations", method="random")
    assert [trial.state for trial in study.trials] == ["finished", "failed", "finished"]


class FullDisk:
    """A temporary file on a disk that is full."""

    def __init__(self, dir):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("uses_files", [True, False])
def test_an_error_of_a_library_on_a_full_disk_is_a_fault_of_the_disk(tmp_path, monkeypatch, uses_files):
    """PyTorch, XGBoost and LightGBM fail with errors of their own, without what the system said."""

    def train(trial):
        for step in range(trial.start + 1, 10):
            if uses_files:
                (trial.directory / "w").write_text(str(step))
            if (trial.start, trial.index, step) == (0, 0, 4):
                raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534")
            yield trial.config["x"]

    options = {"method": "random", "max_resource": 9, "storage": tmp_path / "a.db"}
    with monkeypatch.context() as patched:
        patched.setattr(disk.tempfile, "TemporaryFile", FullDisk)
        if uses_files:
            with pytest.raises(StorageError, match="No space left"):
                ss.tune(train, SPACE, budget="18 steps", **options)
            assert ss.Study.load(tmp_path / "a.db").spent.steps == 3
        else:
            ss.tune(train, SPACE, budget="18 steps", **options)
    study = ss.tune(train, SPACE, budget="18 steps", **options)
    assert [trial.state for trial in study.trials[:2]] == ["finished" if uses_files else "failed", "finished"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="a file system can only be mounted by root")
def test_a_disk_that_is_really_full(tmp_path):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        assert disk.unwritable(tmp_path) is None
        (tmp_path / "ballast").write_bytes(bytes(3 << 19))
        assert disk.unwritable(tmp_path).errno == errno.ENOSPC
        assert [path.name for path in tmp_path.iterdir()] == ["ballast"]
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=False)


def test_a_library_that_names_the_file_in_its_message_only(tmp_path):
    error = OSError(errno.ESTALE, f"unable to open '{tmp_path / 'trial-0' / 'w.h5'}'")
    assert disk_fault(RuntimeError("wrapped"), tmp_path) is None
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = error
    assert disk_fault(wrapped, tmp_path) is error
    assert disk_fault(wrapped, tmp_path / "another") is None


@pytest.mark.parametrize("executor", [Inline(alive=1), Processes(1, alive=1)], ids=["inline", "processes"])
def test_a_trial_whose_folder_cannot_be_created_is_not_charged(tmp_path, executor):
    """The folder of the trials is a file: nothing can be created in it."""
    (tmp_path / "a.db.files").write_text("not a folder")
    options = {"method": "random", "max_resource": 2, "storage": tmp_path / "a.db", "executor": executor}

    def train(trial):
        (trial.directory / "w").write_text("1")
        yield 1.0

    with pytest.raises(StorageError, match="Not a directory"):
        ss.tune(train, SPACE, budget="8 steps", **options)
    stopped = ss.Study.load(tmp_path / "a.db")
    assert (stopped.spent.steps, len(stopped.history.closings)) == (0, 0)


def test_a_stale_handle_while_we_restore_is_a_fault_too(tmp_path, monkeypatch):
    def train(trial):
        for step in range(trial.start + 1, 10):
            if (trial.start, step) == (0, 5):
                raise KeyboardInterrupt
            (trial.directory / "w").write_text(str(step))
            yield trial.config["x"]

    def stale(*_):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    study = ss.Study(SPACE, budget="9 steps", method="random", max_resource=9, storage=tmp_path / "a.db")
    with pytest.raises(KeyboardInterrupt):
        study.run(train)
    with monkeypatch.context() as patched:
        patched.setattr(trial_files.TrialFiles, "rewind", stale)
        with pytest.raises(StorageError, match="cannot be restored"):
            ss.Study.load(tmp_path / "a.db").run(train)
    assert ss.Study.load(tmp_path / "a.db").run(train).spent.steps == 9


def test_failures_in_a_row_that_are_alike_stop_the_run(tmp_path):
    """After a success too: the data may be gone."""

    def objective(trial):
        if 5 <= trial.index < 60:
            raise ConnectionError(f"no answer for request {trial.index} of {trial.config['x']}")
        return trial.config["x"]

    with pytest.raises(EverythingFailed, match=r"20 trials in a row failed in the same way.*trial 5.*no answer"):
        ss.tune(objective, SPACE, budget="100 evaluations", method="random", storage=tmp_path / "a.db")
    assert len(ss.Study.load(tmp_path / "a.db").trials) == 25


@pytest.mark.parametrize("differs", ["another error", "a reading"])
def test_failures_that_differ_or_have_a_reading_between_them_do_not(differs):
    def objective(trial):
        if trial.index % 15 == 0:
            if differs == "a reading" or trial.index == 0:
                return trial.config["x"]
            raise KeyError("something else")
        raise ConnectionError("no answer")

    study = ss.tune(objective, SPACE, budget="60 evaluations", method="random")
    assert len(study.trials) == 60
