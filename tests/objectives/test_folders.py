"""Links below the folder of a storage are never followed, and files may vanish while a folder is copied."""

import os
import stat

import pytest

import shoestring as ss
from shoestring.errors import StorageError
from shoestring.executors import Inline, Processes
from shoestring.objectives import folders
from shoestring.objectives.folders import copy_folder, open_file, pack, unpack
from shoestring.objectives.trial_files import TrialFiles

SPACE = {"x": (0.0, 1.0)}


def writing(trial):
    for step in range(trial.start + 1, 10):
        (trial.directory / "w").write_text(str(step))
        yield trial.config["x"]


@pytest.fixture
def outside(tmp_path):
    """A folder that looks like that of a trial, outside of the storage."""
    folder = tmp_path / "elsewhere" / "trial-1"
    for name in ("work", "step-2", "step-7"):
        (folder / name).mkdir(parents=True)
        (folder / name / "w").write_text("precious")
    return folder


def contents(folder):
    return {path.relative_to(folder): path.read_text() for path in folder.rglob("*") if path.is_file()}


def stopped_in_the_middle(tmp_path):
    study = ss.Study(SPACE, budget="27 steps", method="random", max_resource=9, storage=tmp_path / "a.db")
    study.run(writing, patience="4 steps")
    return tmp_path / "a.db.files" / "study"


@pytest.mark.parametrize("executor", [Inline(), Processes(1)], ids=["inline", "processes"])
@pytest.mark.parametrize("replaced", ["study", "trial"])
def test_a_link_in_place_of_a_folder_stops_the_run_and_nothing_behind_it_changes(tmp_path, outside, replaced, executor):
    folder = stopped_in_the_middle(tmp_path)
    linked, target = (folder, outside.parent) if replaced == "study" else (folder / "trial-1", outside)
    if linked.exists():
        linked.rename(tmp_path / "moved")
    linked.symlink_to(target, target_is_directory=True)
    before = contents(target)
    with pytest.raises(StorageError, match="is a symbolic link"):
        ss.Study.load(tmp_path / "a.db").run(writing, executor=executor)
    assert contents(target) == before


def test_a_snapshot_or_work_that_is_a_link_is_not_restored_from_nor_written_to(tmp_path, outside):
    files = TrialFiles(str(tmp_path / "trial-0"))
    (files.work() / "w").write_text("ours")
    files.snapshot(1)
    (tmp_path / "trial-0" / "step-2").symlink_to(outside / "step-2", target_is_directory=True)
    (tmp_path / "trial-0" / "work-1").symlink_to(outside / "work", target_is_directory=True)
    (tmp_path / "trial-0" / "partial").symlink_to(outside, target_is_directory=True)
    before = contents(outside)
    assert files.newest(9) == 1
    with pytest.raises(StorageError, match="work-1 is a symbolic link"):
        TrialFiles(str(tmp_path / "trial-0"), holders=1).work()
    (files.work() / "w").write_text("second")
    files.snapshot(2)
    files.restore(2)
    assert (files.work() / "w").read_text() == "second"
    assert not (tmp_path / "trial-0" / "work-1").is_symlink()
    assert contents(outside) == before


@pytest.mark.parametrize("leads", ["{outside}/w", "../../outside/w", "sub/../../../outside/w"])
def test_links_out_of_a_folder_are_not_copied(tmp_path, leads):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "w").write_text("precious")
    source = tmp_path / "trial" / "step-1"
    (source / "sub").mkdir(parents=True)
    (source / "w").symlink_to(leads.format(outside=tmp_path / "outside"))
    copy_folder(source, tmp_path / "copy")
    unpack(pack(source), tmp_path / "unpacked")
    for folder in ("copy", "unpacked"):
        assert not os.path.lexists(tmp_path / folder / "w")


def test_links_that_stay_inside_and_the_modes_of_files_are_copied(tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "epoch-3").write_text("weights")
    (source / "epoch-3").chmod(0o750)
    (source / "last").symlink_to("epoch-3")
    (source / "sub" / "last").symlink_to("../epoch-3")
    copy_folder(source, tmp_path / "copy")
    unpack(pack(source), tmp_path / "unpacked")
    for folder in (tmp_path / "copy", tmp_path / "unpacked"):
        assert (folder / "last").read_text() == (folder / "sub" / "last").read_text() == "weights"
        assert os.readlink(folder / "sub" / "last") == "../epoch-3"
        assert stat.S_IMODE((folder / "epoch-3").stat().st_mode) == 0o750


@pytest.mark.parametrize("handles", [True, False])
def test_a_file_is_opened_without_following_a_link_on_the_way(tmp_path, outside, monkeypatch, handles):
    monkeypatch.setattr(folders, "_HAS_HANDLES", handles and folders._HAS_HANDLES)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "to-folder").symlink_to(outside / "work", target_is_directory=True)
    (tmp_path / "inside" / "to-file").symlink_to(outside / "work" / "w")
    with open_file(outside / "work" / "w", below=tmp_path) as file:
        assert file.read() == b"precious"
    for path in ("to-folder/w", "to-file", "../outside/work/w", "missing"):
        with pytest.raises(OSError, match=r"link|Not a directory|No such file|is not below"):
            open_file(tmp_path / "inside" / path, below=tmp_path / "inside")


def vanishing(monkeypatch, times):
    """Let the file ``temporary`` vanish just before it is copied, as often as ``times`` says."""
    opened, left = folders.open_file, [None] * times

    def open_it(path, below=None):
        if path.name == "temporary" and left:
            left.pop()
            path.rename(path.with_name("final"))
        return opened(path, below)

    monkeypatch.setattr(folders, "open_file", open_it)


def test_a_copy_is_repeated_if_a_file_vanishes_meanwhile(tmp_path, monkeypatch):
    files = TrialFiles(str(tmp_path / "trial-0"))
    (files.work() / "temporary").write_text("weights")
    vanishing(monkeypatch, 1)
    files.snapshot(1)
    assert contents(files.snapshot_of(1)) == {folders.Path("final"): "weights"}


def test_a_background_writer_does_not_fail_its_trial(tmp_path, monkeypatch):
    """It writes to a temporary name and renames it, again and again; the readings are of a training that is fine."""
    vanishing(monkeypatch, 1000)

    def train(trial):
        for step in range(trial.start + 1, 4):
            (trial.directory / "model").write_text(str(step))
            (trial.directory / "temporary").write_text(str(step))
            yield trial.config["x"] + step

    study = ss.tune(train, SPACE, budget="9 steps", method="random", max_resource=3, storage=tmp_path / "a.db")
    assert [trial.state for trial in study.trials] == ["finished"] * 3
    assert (study.directory(best=True) / "model").read_text() == "1"


def test_a_folder_whose_files_vanish_every_time_is_copied_without_them(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "kept").write_text("1")
    entries = folders.entries

    def with_a_ghost(folder):
        yield "ghost", os.lstat(tmp_path / "source" / "kept")
        yield from entries(folder)

    monkeypatch.setattr(folders, "entries", with_a_ghost)
    copy_folder(tmp_path / "source", tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["kept"]
