"""Saving what is good of a damaged SQLite storage: every study up to its last good event.

The good events are written to a new file, which then takes the place of the damaged one; that is kept under another
name. Processes that still use the damaged file notice the replacement and stop.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoestring.core.checksums import events_of, first_link
from shoestring.core.event_log import check_name
from shoestring.core.events import Event
from shoestring.core.history import History
from shoestring.errors import ShoestringError, StorageError
from shoestring.logs.sqlite import INSERT, SELECT, TABLES, connect, is_unused


@dataclass
class Examined:
    """A stored study: its rows up to the last good event, and what is wrong after that."""

    id: int
    name: str
    rows: list[Any] = field(default_factory=list)
    last: Event | None = None
    problem: str = ""


def examine(path: Path) -> list[Examined]:
    """All studies of a storage, as far as they can be read; nothing is written."""
    if not path.is_file():
        raise StorageError(
            f"{path} is a folder; a storage is a file" if path.is_dir() else f"there is no storage {path}"
        )
    mode = "mode=ro&immutable=1" if is_unused(str(path)) else "mode=ro"
    with closing(connect(path, mode)) as connection:
        try:
            studies = connection.execute("SELECT id, name FROM studies ORDER BY id").fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from a message that quotes damage
            raise StorageError(
                f"nothing can be read of {path}: {error}. If it is a storage of shoestring, restore it from a copy"
            ) from None
        found = [_examine(connection, Examined(number, str(name))) for number, name in studies]
        if damage := _damage(connection):
            for study in found:
                study.problem = study.problem or f"the file is damaged: {damage}"
    return found


def _damage(connection: sqlite3.Connection) -> str:
    """Find damage of the file itself, even if every event can be read: a study in it cannot be opened."""
    try:
        said = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except (sqlite3.Error, UnicodeDecodeError) as error:
        said = str(error)
    return "" if said == "ok" else " ".join(said.split())


def _examine(connection: sqlite3.Connection, study: Examined) -> Examined:
    history, good = History(), 0
    try:
        check_name(study.name)
        rows = _note_rows(connection.execute(SELECT, (study.id, 0)), study.rows)
        for event in events_of(rows, 0, first_link(study.name)):
            history.restore(event)
            study.last, good = event, good + 1
    except (ShoestringError, sqlite3.Error, UnicodeDecodeError) as error:
        study.problem = str(error)
    del study.rows[good:]
    return study


def _note_rows(cursor: sqlite3.Cursor, rows: list[Any]) -> Iterator[Any]:
    for row in cursor:
        rows.append(row)
        yield row


def cut(path: Path, studies: list[Examined]) -> Path:
    """Keep the good events of these studies only; where the damaged file is now."""
    repaired, kept = path.with_name(path.name + ".repaired"), _free_name(path)
    try:
        _remove(repaired)
        with closing(connect(repaired, "mode=rwc")) as connection:
            connection.executescript(TABLES)
            with connection:
                connection.execute("BEGIN")
                for study in studies:
                    if study.rows:
                        connection.execute("INSERT INTO studies (id, name) VALUES (?, ?)", (study.id, study.name))
                        connection.executemany(INSERT, ((study.id, *row) for row in study.rows))
        path.rename(kept)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(kept.with_name(kept.name + suffix))
        repaired.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"{path} cannot be repaired: {error}") from error
    return kept


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged{number or ''}") for number in range(10**6))
    return next(name for name in names if not name.exists())


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.remove(f"{path}{suffix}")
