"""Renaming, archiving and deleting stored studies: all or nothing, and never under a running trial."""

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main
from shoestring.core.heartbeats import stop_heartbeat
from shoestring.errors import MethodError, ShoestringError, StorageError, StudyNotFound
from shoestring.logs import MemoryLog, SqliteLog


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def log(request, tmp_path):
    if request.param == "memory":
        return MemoryLog()
    if request.param == "sqlite":
        return SqliteLog(tmp_path / "s.db")
    from shoestring.logs import PostgresLog

    return PostgresLog(request.getfixturevalue("database"), files=tmp_path / "files")


def told(log, name="first", count=3, **options):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=log, name=name, **options)
    for _ in range(count):
        study.tell(study.ask(), 0.5)
    return study


def test_a_renamed_study_goes_on_as_it_would_have(log):
    study, twin = told(log), told(MemoryLog())
    (study.directory(0) / "weights.txt").write_text("good")
    events = study.events()
    study.rename("second")
    assert study.name == "second"
    assert log.studies() == ["second"]
    assert study.events() == events
    assert (study.directory(0) / "weights.txt").read_text() == "good"
    assert study.verify().ok
    for one in (study, twin):
        one.tell(one.ask(), 0.25)
    assert study.trials[3].config == twin.trials[3].config
    again = ss.Study.load(log, "second")
    assert len(again.trials) == 4
    with pytest.raises(StudyNotFound):
        ss.Study.load(log, "first")


def test_a_deleted_study_is_gone_with_its_files_and_its_name_is_free(log):
    study, other = told(log), told(log, "other")
    folder = study.directory(0).parents[1]
    (study.directory(0) / "weights.txt").write_text("good")
    study.delete()
    assert log.studies() == ["other"]
    assert not folder.exists()
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".deleted")] == []
    with pytest.raises(ShoestringError):
        study.ask()
    assert len(told(log, count=1).trials) == 1
    assert len(other.trials) == 3


@pytest.mark.parametrize("action", ["rename", "delete"])
def test_nothing_happens_while_a_trial_runs(log, action):
    study = told(log)
    study.ask()
    before = study.events()
    with pytest.raises(MethodError, match="trials of 'first' are running \\(3\\); stop the study first"):
        study.rename("second") if action == "rename" else study.delete()
    assert study.events() == before
    study.release(3)
    study.rename("second") if action == "rename" else study.delete()
    assert "first" not in log.studies()


def test_a_name_that_is_taken_or_cannot_be_one_is_refused(log):
    study = told(log)
    told(log, "second", 1)
    for name, words in (("second", "there is a study 'second' already"), ("a/b", "without slashes"), ("", "a text")):
        with pytest.raises(MethodError, match=words):
            study.rename(name)
    (log.directory() / "third").mkdir(parents=True)
    with pytest.raises(StorageError, match="is there already"):
        study.rename("third")
    assert sorted(log.studies()) == ["first", "second"]
    assert study.verify().ok


def test_a_link_in_the_place_of_the_folder_is_not_followed(log, tmp_path):
    study = told(log)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("of another user")
    log.directory().mkdir(parents=True, exist_ok=True)
    (log.directory() / "first").symlink_to(outside, target_is_directory=True)
    with pytest.raises(StorageError, match="symbolic link"):
        study.delete()
    assert (outside / "kept.txt").exists()
    assert log.studies() == ["first"]


def test_what_was_appended_meanwhile_is_not_lost(log, monkeypatch):
    study = told(log)
    manager = ss.Study.load(log, "first")
    real = type(log).rename

    def late(self, *given):
        study.tell(study.ask(), 0.125)
        real(self, *given)

    monkeypatch.setattr(type(log), "rename", late)
    with pytest.raises(StorageError, match="changed at this moment"):
        manager.rename("second")
    assert len(ss.Study.load(log, "first").trials) == 4


def test_a_process_that_has_the_study_open_notices(tmp_path):
    study = told(tmp_path / "s.db")
    other = ss.Study.load(tmp_path / "s.db", "first")
    other.rename("second")
    with pytest.raises(StorageError):
        study.tell(study.ask(), 0.5)
    assert ss.Study.load(tmp_path / "s.db", "second").verify().ok


def test_archiving_is_an_event_and_can_be_undone(log):
    study = told(log)
    study.tags = ["baseline"]
    study.archive()
    study.archive()
    assert study.tags == ("baseline", "archived")
    assert [event.kind for event in study.events()[-2:]] == ["noted", "noted"]
    study.archive(False)
    assert study.tags == ("baseline",)


def test_the_commands(tmp_path):
    place = str(tmp_path / "s.db")
    study = told(tmp_path / "s.db")
    stop_heartbeat(study._journal.worker)

    def command(*words, answer=None):
        return CliRunner().invoke(main, [*words], input=answer)

    assert "first is archived" in command("archive", place, "first").output
    assert "archived" in ss.Study.load(place, "first").tags
    assert "first is listed again" in command("archive", place, "first", "--undo").output
    assert "first is called second now" in command("rename", place, "first", "--to", "second").output
    assert command("delete", place, "second", answer="n\n").exit_code == 1
    assert "Delete second with 3 trials" in command("delete", place, "second", answer="n\n").output
    assert SqliteLog(tmp_path / "s.db").studies() == ["second"]
    assert command("delete", place, "second", "--yes").exit_code == 0
    assert SqliteLog(tmp_path / "s.db").studies() == []
    assert "there is no study" in command("rename", place, "second", "--to", "x").output
