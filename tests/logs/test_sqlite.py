"""A SQLite file that is damaged, edited, missing or of another program."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import pytest

import shoestring as ss
from shoestring import Study
from shoestring.errors import Conflict, CorruptLog, MethodError, NewerLog, OlderLog, StorageError, StudyNotFound
from shoestring.logs import SqliteLog, open_log
from shoestring.logs.repair import cut, examine
from shoestring.testing.logs import OPENED, REPORTED
from tests.stored import edit, execute, seal

SPACE = {"x": (0.0, 1.0)}


def study_of(budget="30 steps", **options):
    return Study(SPACE, budget=budget, **{"method": "asha", "max_resource": 9, **options})


def tell_all(study):
    while (grant := study.ask()) is not None:
        study.tell(grant, [1.0] * (grant.until - grant.start))


def test_a_damaged_database_is_an_error_of_ours(tmp_path):
    storage = tmp_path / "a.db"
    study = study_of("3000 steps", method="random", storage=storage)
    tell_all(study)
    del study
    whole = storage.read_bytes()
    for damaged in (b"this is not a database" * 100, whole[: len(whole) // 2]):
        for leftover in tmp_path.glob("b.db*"):
            leftover.unlink()
        (tmp_path / "b.db").write_bytes(damaged)
        with pytest.raises(StorageError, match=r"b\.db|event"):
            Study.load(tmp_path / "b.db", "study")


@pytest.mark.parametrize(
    ("free", "advice"), [(0, "make room"), (1 << 30, "make sure that the file and its folder can be written")]
)
def test_a_database_that_cannot_grow_is_an_error_that_says_what_to_do(tmp_path, monkeypatch, free, advice):
    storage = open_log(tmp_path / "a.db")
    study = study_of("3000 steps", method="random", storage=storage)
    storage._writer().execute("PRAGMA max_page_count = 8")  # SQLite's own "database or disk is full"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(StorageError, match=rf"is full.*The events before are kept: {advice}"):
        tell_all(study)
    storage._writer().execute("PRAGMA max_page_count = 100000")
    assert Study.load(tmp_path / "a.db").ask() is not None


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        ('{"v": 99, "trial": 0}', None, NewerLog),
        ("not json", None, CorruptLog),
        ("[1]", None, CorruptLog),
        ('{"v": 3}', None, CorruptLog),
        ('{"v": 3, "budget": {"steps": 5}}', "invented", CorruptLog),
        ('{"v": 3, "trial": 0, "step": 1, "value": 0.5}', "reported", CorruptLog),
        (
            '{"v":3,"trial":0,"arm":0,"replicate":0,"seed":1,"start":0,"until":9999,"reason":"r","worker":"w","config":{}}',
            None,
            CorruptLog,
        ),
    ],
)
def test_a_log_that_cannot_be_is_refused(tmp_path, body, kind, error):
    storage = tmp_path / "a.db"
    study_of(method="random", storage=storage).ask()
    edit(storage, body=body, **({"kind": kind} if kind else {}))
    with pytest.raises(error, match=r"event 1|format 99"):
        Study.load(storage, "study")


def test_a_missing_event_is_noticed(tmp_path):
    storage = tmp_path / "a.db"
    study = study_of(method="random", storage=storage)
    study.tell(study.ask(), [1.0, 2.0, 3.0])
    with sqlite3.connect(storage) as connection:
        connection.execute("DELETE FROM events WHERE seq = 2")
    connection.close()
    with pytest.raises(CorruptLog, match="event 2 is missing"):
        Study.load(storage, "study")


def test_loading_a_storage_that_is_not_there_does_not_create_it(tmp_path):
    with pytest.raises(StorageError, match="there is no storage"):
        Study.load(tmp_path / "typo.db")
    assert not list(tmp_path.iterdir())


def test_another_programs_database_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE studies (study_id INTEGER)")
    connection.close()
    with pytest.raises(StorageError, match="another program"):
        study_of(storage=tmp_path / "other.db")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_looking_changes_nothing(tmp_path):
    """Neither a database of ours, nor that of another program, nor a file that is not a database."""
    study_of(storage=tmp_path / "ours.db").ask()
    with sqlite3.connect(tmp_path / "foreign.db") as connection:
        connection.execute("CREATE TABLE things (x)")
    connection.close()
    (tmp_path / "empty.txt").touch()
    before = contents(tmp_path)
    assert len(Study.load(tmp_path / "ours.db").trials) == 1
    with pytest.raises(StorageError, match="another program"):
        Study.load(tmp_path / "foreign.db")
    with pytest.raises(StudyNotFound, match="no study"):
        Study.load(tmp_path / "empty.txt", "study")
    assert contents(tmp_path) == before


def test_what_was_only_looked_at_sees_what_others_append_and_can_append_itself(tmp_path):
    writer = study_of(storage=tmp_path / "a.db")
    looking = Study.load(tmp_path / "a.db")
    writer.ask()
    assert len(looking.trials) == 1
    looking.ask()
    assert len(writer.trials) == 2
    del writer
    assert len(looking.trials) == 2


def test_a_log_opened_before_its_file_exists_sees_it_later(tmp_path):
    early = open_log(tmp_path / "a.db")
    assert early.studies() == []
    study_of(storage=tmp_path / "a.db")
    assert early.studies() == ["study"]
    with pytest.raises(Conflict):
        early.create("study", early.read(early.find("study"), 0)[0])


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_deleted_or_replaced_in_use_stops_the_run(tmp_path, how):
    storage = tmp_path / "a.db"
    shutil.copy(__file__, tmp_path / "other.db")

    def objective(trial):
        if trial.arm == 3:
            storage.unlink() if how == "deleted" else os.replace(tmp_path / "other.db", storage)
        return 1.0

    with pytest.raises(StorageError, match=f"was {how} while it was in use"):
        ss.tune(objective, SPACE, budget="9 evaluations", method="random", storage=storage)
    assert storage.exists() == (how == "replaced")


def test_it_is_noticed_when_the_last_event_was_written_already(tmp_path):
    study = study_of(storage=tmp_path / "a.db")
    study.ask()
    (tmp_path / "a.db").unlink()
    with pytest.raises(StorageError, match="deleted"):
        _ = study.best


def test_memory_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for storage in (":memory:", "sqlite:///:memory:"):
        study_of(storage=storage).ask()
    assert not list(tmp_path.iterdir())


def test_an_older_storage_is_refused_with_what_to_do(tmp_path):
    storage = tmp_path / "a.db"
    study_of(storage=storage)
    execute(storage, ("ALTER TABLE events DROP COLUMN checksum",))
    with pytest.raises(OlderLog, match=r"earlier version.*another file"):
        study_of(storage=storage)


@pytest.mark.parametrize("name", ["../../victim", "a/b", "a\nb", "..", "x" * 300, b"blob"])
def test_a_stored_name_that_is_no_name_is_refused(tmp_path, name):
    storage, victim = tmp_path / "deep" / "er" / "a.db", tmp_path / "victim"
    storage.parent.mkdir(parents=True)
    study_of(storage=storage).ask()
    execute(storage, ("UPDATE studies SET name = ?", name))
    seal(storage)
    with pytest.raises(MethodError, match="the study's name"):
        Study.load(storage).run(lambda trial: 1.0)
    assert not victim.exists()


@pytest.mark.parametrize("name", ["x" * 300, "\ud800", "two\nlines"])
def test_such_a_name_cannot_be_given_either(tmp_path, name):
    study_of(storage=tmp_path / "a.db")
    for storage in (None, tmp_path / "a.db"):
        with pytest.raises(MethodError, match="the study's name"):
            study_of(storage=storage, name=name)
        with pytest.raises(MethodError, match="the study's name"):
            Study.load(storage or ":memory:", name)


def test_events_without_their_study_are_an_error_of_ours(tmp_path):
    storage = tmp_path / "a.db"
    study_of(storage=storage)
    execute(storage, ("DELETE FROM studies",))
    with pytest.raises(CorruptLog, match="a study that it does not list"):
        study_of(storage=storage)
    execute(storage, ("DELETE FROM events",), ("INSERT INTO studies (name) VALUES ('study')",))
    with pytest.raises(CorruptLog, match="the log is empty"):
        Study.load(storage)


def finished(storage, name="study"):
    study = study_of(storage=storage, name=name)
    while (grant := study.ask()) is not None:
        study.tell(grant, [grant.config["x"]] * (grant.until - grant.start))
    return study


def flipped(whole, bit):
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_flipped_bit_changes_a_study_unnoticed(tmp_path):
    study = finished(tmp_path / "a.db")
    expected = study.events()
    del study
    whole, rng = (tmp_path / "a.db").read_bytes(), random.Random(0)
    noticed = 0
    for bit in rng.sample(range(len(whole) * 8), 600):
        for leftover in tmp_path.glob("b.db*"):
            leftover.unlink()
        (tmp_path / "b.db").write_bytes(flipped(whole, bit))
        try:
            assert Study.load(tmp_path / "b.db", "study").events() == expected
        except (StorageError, StudyNotFound):
            noticed += 1
    assert noticed > 100


@pytest.mark.parametrize(
    "damage",
    [
        ("UPDATE events SET body = replace(body, '\"value\":0', '\"value\":1') WHERE seq = 13 AND kind = 'reported'",),
        ("DELETE FROM events WHERE seq = 13",),
        ("UPDATE events SET at = at + 1 WHERE seq = 13",),
    ],
)
def test_damage_is_reported_with_the_last_good_event_and_can_be_cut_off(tmp_path, damage):
    storage = tmp_path / "a.db"
    study = finished(storage)
    finished(storage, "unharmed")
    events, trials = study.events(), len(study.trials)
    assert events[13].kind == "reported"
    del study
    execute(storage, (damage[0] + " AND study = 1",))
    damaged = storage.read_bytes()
    with pytest.raises(CorruptLog, match=r"the last good one is event 12.*shoestring repair"):
        Study.load(storage, "study")
    assert storage.read_bytes() == damaged
    kept = cut(storage, examine(storage))
    assert kept.read_bytes() == damaged
    assert Study.load(storage, "study").events() == events[:13]
    assert Study.load(storage, "unharmed").state == "finished"
    assert len(finished(storage).trials) == trials
    assert cut(storage, examine(storage)) != kept


def test_what_is_left_of_a_torn_file_is_saved(tmp_path):
    storage = tmp_path / "a.db"
    study = study_of("3000 steps", method="random", storage=storage)
    while (grant := study.ask()) is not None:
        study.tell(grant, [1.0] * (grant.until - grant.start))
    events = study.events()
    del study
    with storage.open("r+b") as file:
        file.seek(storage.stat().st_size // 2)
        file.write(b"\xff" * 8192)
    (found,) = examine(storage)
    assert found.problem
    cut(storage, [found])
    saved = Study.load(storage, "study").events()
    assert saved == events[: len(saved)]
    assert len(saved) > 10


def test_what_a_killed_process_left_half_created_is_rolled_back(tmp_path):
    """A transaction that was cut off after a part of it had reached the file can only be read once it is undone."""
    path = tmp_path / "study.db"
    program = f"""
import os, sqlite3
database = sqlite3.connect({str(path)!r}, isolation_level=None)
database.executescript("PRAGMA cache_size = 1; CREATE TABLE other (text TEXT); DROP TABLE other; BEGIN")
database.execute("CREATE TABLE studies (id INTEGER, name TEXT)")
database.executemany("INSERT INTO studies VALUES (?, ?)", [(i, "x" * 500) for i in range(500)])
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    assert path.with_name("study.db-journal").exists()
    assert open_log(path).studies() == []


def test_a_file_that_cannot_be_opened_because_of_damage_is_not_called_good(tmp_path):
    """A page that SQLite finds fault with may hold good events only: then all of them are saved."""
    study = finished(tmp_path / "a.db")
    events = study.events()
    del study
    whole, storage = (tmp_path / "a.db").read_bytes(), tmp_path / "b.db"
    changed = bytearray(whole)
    size = int.from_bytes(whole[16:18], "big")
    changed[2 * size + 7] += 1  # the number of fragmented bytes in the header of a page, which no event uses
    storage.write_bytes(changed)
    with pytest.raises(CorruptLog, match="shoestring repair"):
        Study.load(storage, "study")
    (found,) = examine(storage)
    assert "the file is damaged" in found.problem
    cut(storage, [found])
    assert Study.load(storage, "study").events() == events


@pytest.mark.parametrize("what", ["a folder", "text", "schema"])
def test_what_cannot_be_repaired_is_an_error_of_ours(tmp_path, what):
    storage = tmp_path / "b.db"
    if what == "a folder":
        storage.mkdir()
    elif what == "text":
        storage.write_text("this is not a database")
    else:  # SQLite quotes it in its message, and it is not UTF-8
        finished(tmp_path / "a.db")
        storage.write_bytes((tmp_path / "a.db").read_bytes().replace(b"WITHOUT ROWID", b"WITHOUT RO\xd7ID"))
    with pytest.raises(StorageError, match=r"nothing can be read|is a folder"):
        examine(storage)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can mount a file system")
def test_a_storage_on_a_read_only_file_system_can_be_examined_but_not_written(tmp_path):
    source, mounted = tmp_path / "source", tmp_path / "mounted"
    source.mkdir()
    mounted.mkdir()
    study_of(storage=source / "a.db").ask()
    if subprocess.run(["mount", "--bind", source, mounted], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mounted], check=True)
        (found,) = examine(mounted / "a.db")
        assert not found.problem
        with pytest.raises(StorageError, match="make sure that the file and its folder can be written"):
            Study.load(mounted / "a.db").ask()
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=False)


def test_an_append_demands_the_event_before_it(tmp_path):
    """A log that lost its last events, or a caller that skips a position, leaves no gap behind."""
    log = SqliteLog(tmp_path / "a.db")
    study = log.create("a", OPENED)
    log.append(study, [REPORTED, REPORTED], 1)
    with pytest.raises(StorageError, match="has lost events that it had: event 4 is missing or was replaced"):
        log.append(study, [REPORTED], 5)
    execute(tmp_path / "a.db", ("DELETE FROM events WHERE seq = 2",))
    for events in ([REPORTED], [REPORTED, REPORTED]):
        with pytest.raises(StorageError, match="has lost events that it had: event 2 is missing or was replaced"):
            log.append(study, events, 3)
    again = SqliteLog(tmp_path / "a.db")
    assert again.read(study, 0) == [OPENED, REPORTED]
    again.append(study, [REPORTED], 2)


TAMPERED = {
    "trigger": "CREATE TRIGGER spy AFTER INSERT ON events BEGIN DELETE FROM studies; END",
    "index": "CREATE UNIQUE INDEX once ON events (body)",
    "column": "ALTER TABLE studies ADD COLUMN more TEXT DEFAULT 1",
    "definition": "DROP TABLE workers; CREATE TABLE workers (study INTEGER, worker TEXT CHECK (study > 9), beat REAL)",
    "missing": "DROP TABLE workers",
    "view": "DROP TABLE workers; CREATE VIEW workers AS SELECT 1 AS study, 'me' AS worker, 0.0 AS beat",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_schema_that_is_not_ours_is_refused_and_nothing_is_written(tmp_path, what):
    study_of(storage=tmp_path / "a.db").ask()
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.executescript(TAMPERED[what])
    connection.close()
    before = contents(tmp_path)
    for use in (lambda: study_of(storage=tmp_path / "a.db"), lambda: Study.load(tmp_path / "a.db").ask()):
        with pytest.raises(StorageError, match=r"shoestring (did not make|made)"):
            use()
    assert contents(tmp_path) == before


def test_tables_of_another_program_next_to_ours_change_nothing(tmp_path):
    study_of(storage=tmp_path / "a.db").ask()
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.executescript("CREATE TABLE notes (text TEXT); CREATE INDEX fast ON notes (text); ANALYZE")
    connection.close()
    assert len(Study.load(tmp_path / "a.db").ask(2)) == 2


def test_a_storage_that_was_dumped_and_restored_is_ours(tmp_path):
    study_of(storage=tmp_path / "a.db").ask()
    old, new = sqlite3.connect(tmp_path / "a.db"), sqlite3.connect(tmp_path / "b.db")
    new.executescript("\n".join(old.iterdump()))
    old.close(), new.close()
    assert len(Study.load(tmp_path / "b.db").ask(2)) == 2
