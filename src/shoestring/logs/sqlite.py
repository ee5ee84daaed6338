"""A log in a SQLite file, which several processes may use at once.

``PRIMARY KEY (study, seq)`` is the only concurrency control: two processes that append at the same position cannot
both succeed. The file is in WAL mode with ``synchronous=NORMAL``: what was appended survives a crash of the process;
after a power loss the last events may be missing, and the study continues from those that are there.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from shoestring.core.events import Event, from_json, to_json
from shoestring.errors import Conflict, CorruptLog, StorageError

T = TypeVar("T")

# Both tables or none: a file with one of them would be taken for that of another program.
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS studies (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS events (
    study INTEGER NOT NULL REFERENCES studies (id), seq INTEGER NOT NULL,
    kind TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (study, seq)
) WITHOUT ROWID;
COMMIT;
"""

# SQLite itself waits this many seconds for a lock, and we try this often before giving up:
# a database that stays locked for ten minutes is held by a program that will not release it.
_TIMEOUT = 5.0
_ATTEMPTS = 120


class SqliteLog:
    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        if not self.path.parent.is_dir():
            raise StorageError(f"the folder {self.path.parent} for the storage {self.path.name} does not exist")
        if self.path.is_dir():
            raise StorageError(f"{self.path} is a folder; a storage is a file")
        self._local = threading.local()
        tables = {name for (name,) in self._rows(_TABLE_NAMES)}
        if tables and not {"studies", "events"} <= tables:
            raise StorageError(f"{self.path} is the database of another program; choose another file")
        if not tables:
            self._retry(lambda: self._connection().executescript(_TABLES))

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread: SQLite's connections cannot be shared."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self.path, timeout=_TIMEOUT, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.connection = connection
        return connection

    def __del__(self) -> None:
        connection = getattr(getattr(self, "_local", None), "connection", None)
        if connection is not None:
            connection.close()

    def _retry(self, action: Callable[[], T]) -> T:
        """Retry while the database is busy; raise other problems as errors of our own."""
        for _ in range(_ATTEMPTS):
            try:
                return action()
            except sqlite3.IntegrityError:
                raise
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    raise StorageError(f"the storage {self.path} cannot be used: {error}") from error
            except sqlite3.DatabaseError as error:
                raise CorruptLog(
                    f"the storage {self.path} is damaged or is no SQLite database ({error}); "
                    "restore it from a copy, or choose another file"
                ) from error
            time.sleep(0.01)
        minutes = _ATTEMPTS * _TIMEOUT / 60
        raise StorageError(f"the storage {self.path} was locked by another program for {minutes:g} minutes")

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._retry(lambda: self._connection().execute(query, values).fetchall())

    def studies(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM studies ORDER BY id")]

    def find(self, name: str) -> int | None:
        rows = self._rows("SELECT id FROM studies WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def create(self, name: str, opened: Event) -> int:
        def insert() -> int:
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                study = connection.execute("INSERT INTO studies (name) VALUES (?)", (name,)).lastrowid or 0
                connection.executemany(_INSERT, _values(study, [opened], 0))
            return study

        try:
            return self._retry(insert)
        except sqlite3.IntegrityError:
            raise Conflict(f"there is a study {name!r} already") from None

    def read(self, study: int, start: int) -> list[Event]:
        rows = self._rows(_SELECT, study, start)
        for expected, (seq, *_) in enumerate(rows, start):
            if seq != expected:
                raise CorruptLog(f"event {expected} is missing from the storage {self.path}")
        return [from_json(kind, at, body, seq) for seq, kind, at, body in rows]

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        rows = _values(study, events, expect)

        def insert() -> None:
            connection = self._connection()
            if len(rows) == 1:  # a transaction of its own, and twice as fast as an explicit one
                connection.execute(_INSERT, rows[0])
                return
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_INSERT, rows)

        try:
            self._retry(insert)
        except sqlite3.IntegrityError:
            raise Conflict(f"position {expect} was taken by another process") from None

    def directory(self) -> Path:
        return self.path.with_name(self.path.name + ".files")


def _values(study: int, events: Sequence[Event], start: int) -> list[tuple[object, ...]]:
    return [(study, seq, event.kind, event.at, to_json(event)) for seq, event in enumerate(events, start)]


_TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_INSERT = "INSERT INTO events (study, seq, kind, at, body) VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT seq, kind, at, body FROM events WHERE study = ? AND seq >= ? ORDER BY seq"
