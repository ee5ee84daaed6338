"""A SQLite file that is damaged, edited, missing or somebody else's."""

import sqlite3

import pytest

from shoestring import Study
from shoestring.errors import (
    CorruptLog,
    NewerLog,
    StorageError,
)

SPACE = {"x": (0.0, 1.0)}


def study_of(budget="30 steps", **options):
    return Study(SPACE, budget=budget, **{"method": "asha", "max_resource": 9, **options})


def test_a_damaged_database_is_an_error_of_ours(tmp_path):
    storage = tmp_path / "a.db"
    study = study_of("3000 steps", method="random", storage=storage)
    while (grant := study.ask()) is not None:
        study.tell(grant, [1.0] * (grant.until - grant.start))
    del study
    whole = storage.read_bytes()
    for damaged in (b"this is no database" * 100, whole[: len(whole) // 2]):
        for leftover in tmp_path.glob("b.db*"):
            leftover.unlink()
        (tmp_path / "b.db").write_bytes(damaged)
        with pytest.raises(StorageError, match=r"b\.db|event"):
            Study.load(tmp_path / "b.db", "study")


def edit(storage, body, seq=1, kind=None):
    with sqlite3.connect(storage) as connection:
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))
        if kind:
            connection.execute("UPDATE events SET kind = ? WHERE seq = ?", (kind, seq))
    connection.close()


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        ('{"v": 99, "trial": 0}', None, NewerLog),
        ("not json", None, CorruptLog),
        ("[1]", None, CorruptLog),
        ('{"v": 2}', None, CorruptLog),
        ('{"v": 2, "budget": {"steps": 5}}', "invented", CorruptLog),
        ('{"v": 2, "trial": 0, "step": 1, "value": 0.5}', "reported", CorruptLog),
        (
            '{"v":2,"trial":0,"arm":0,"replicate":0,"seed":1,"start":0,"until":9999,"reason":"r","worker":"w","config":{}}',
            None,
            CorruptLog,
        ),
    ],
)
def test_a_log_that_cannot_be_is_refused(tmp_path, body, kind, error):
    storage = tmp_path / "a.db"
    study_of(method="random", storage=storage).ask()
    edit(storage, body, kind=kind)
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
