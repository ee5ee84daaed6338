"""A log in a SQLite file, which several processes may use at once.

``PRIMARY KEY (study, seq)`` is the only concurrency control: two processes that append at the same position cannot
both succeed. The file is in WAL mode with ``synchronous=NORMAL``: appended events survive a crash of the process;
after a power loss the last events may be missing, and the study continues from those that are there.

Nothing is written before something is appended: looking at a study leaves its file, and those of other programs, as
they are, and works on a read-only file system. A file that is deleted or replaced while it is in use is noticed by its
inode: SQLite itself would go on writing to a file that cannot be opened any more.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, TypeVar

from shoestring.core.checksums import Ends, events_of, first_link, relink, rows_of
from shoestring.core.events import Event, older_format
from shoestring.core.workers import ticks
from shoestring.errors import Conflict, CorruptLog, OlderLog, StorageError
from shoestring.logs.addresses import is_there
from shoestring.logs.advisory_lock import FileLock

T = TypeVar("T")

# Both tables or none: a file with one of them would look like a file of another program.
TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS studies (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS events (
    study INTEGER NOT NULL REFERENCES studies (id), seq INTEGER NOT NULL,
    kind TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (study, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workers (
    study INTEGER NOT NULL REFERENCES studies (id), worker TEXT NOT NULL, beat REAL NOT NULL,
    PRIMARY KEY (study, worker)
) WITHOUT ROWID;
COMMIT;
"""

# SQLite itself waits this many seconds for a lock, and we try this often before giving up:
# a database that stays locked for ten minutes is held by a program that will not release it.
_TIMEOUT = 5.0
_ATTEMPTS = 120
# Whether the file is still there is checked after every read, and after an append if the last check is this old.
_UNCHECKED = 0.02
# With fewer bytes free a file system counts as full: SQLite needs a page of the log and one of its index.
_ROOM = 1 << 16
# What SQLite says if a file or its folder cannot be written.
_FILE_ERRORS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class SqliteLog:
    """Studies in the SQLite file at ``path``, for any number of processes on one machine."""

    def __init__(self, path: Path) -> None:
        is_there(str(path))
        self.path = path.expanduser().absolute()
        if "\0" in str(path) or not self.path.parent.is_dir():
            raise StorageError(f"the folder {self.path.parent} for the storage {self.path.name!r} does not exist")
        if self.path.is_dir():
            raise StorageError(f"{self.path} is a folder; a storage is a file")
        self._file = str(self.path)
        self._local = threading.local()
        self._process = os.getpid()
        self._ends = Ends()
        self._lock = FileLock(self._file + "-turn")
        self._identity = _identity(self._file)
        self._checked = 0.0
        self._has_tables = self._identity is not None and self._check_tables()

    def __repr__(self) -> str:
        return f"SqliteLog({self._file!r})"

    def _check_tables(self) -> bool:
        """Tell whether the file has the tables of a storage; refuse one whose schema is not exactly ours.

        A trigger, a constraint or a view could change what is written, or make SQLite run what it says.
        """
        schema = self._retry(lambda: self._look(_SCHEMA, ()))
        if not schema:
            return False
        tables = {name: sql for kind, name, _, sql in schema if kind == "table"}
        words = {name: set(re.findall(r"\w+", sql)) for name, sql in tables.items()}
        if not all(columns <= words.get(name, set()) for name, columns in _NEEDED.items()):
            raise StorageError(f"{self.path} is the database of another program; choose another file")
        if "checksum" not in words["events"]:
            raise OlderLog(older_format(f"the storage {self.path} has no checksums"))
        for name, ours in _DEFINITIONS.items():
            if _without_spaces(tables.get(name, "")) != ours:
                raise StorageError(f"{self.path} has another table {name!r} than shoestring made; choose another file")
        for kind, name, table, _ in schema:
            if kind != "table" and table in _DEFINITIONS:
                raise StorageError(
                    f"{self.path} has the {kind} {name!r} on the table {table!r}, which shoestring did not make: drop "
                    "it, or choose another file"
                )
        return True

    def _writer(self) -> sqlite3.Connection:
        """The connection of this thread that can write: SQLite's connections cannot be shared."""
        if os.getpid() != self._process:
            raise StorageError(
                f"the storage {self.path} was opened before this process was forked; open the study again in it"
            )
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            mode = "rwc" if self._identity is None else "rw"
            connection = connect(self.path, f"mode={mode}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            if not self._has_tables:
                connection.executescript(TABLES)
                self._has_tables = True
            self._identity = self._identity or _identity(self._file)
            self._local.connection = connection
        return connection

    def __del__(self) -> None:
        connection = getattr(getattr(self, "_local", None), "connection", None)
        if connection is not None and os.getpid() == self._process:
            connection.close()

    def _look(self, query: str, values: tuple[object, ...]) -> list[Any]:
        """Read without writing anything, not even the files that SQLite keeps next to a database in use.

        Without a file ``-wal`` nothing was written since the database was closed, and SQLite may treat it as immutable;
        if a process starts to write meanwhile, the time stamp of the file shows it. The one exception is a process that
        was killed while it created the tables: its unfinished work cannot be read before it is rolled back.
        """
        while True:
            before = os.stat(self._file)
            unused = is_unused(self._file)
            try:
                rows = _read(self.path, "mode=ro&immutable=1" if unused else "mode=ro", query, values)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                    raise
                rows = _read(self.path, "mode=rw", query, values)
            after = os.stat(self._file)
            if not unused or (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
                return rows

    def _retry(self, action: Callable[[], T]) -> T:
        """Retry while the database is busy; raise other problems as errors of our own."""
        for _ in range(_ATTEMPTS):
            try:
                return action()
            except sqlite3.IntegrityError:
                raise
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    self._check_identity()
                    raise StorageError(
                        f"the storage {self.path} cannot be used: {error}{self._advice(error)}"
                    ) from error
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter from a message that quotes damage
                raise CorruptLog(
                    f"the storage {self.path} is damaged or is not a SQLite database ({error}); restore it from a "
                    "copy, choose another file, or see what can be read of it with: shoestring repair"
                ) from error
            except OSError as error:
                self._check_identity()
                raise StorageError(f"the storage {self.path} cannot be used: {error.strerror}") from error
            time.sleep(0.01)
        minutes = _ATTEMPTS * _TIMEOUT / 60
        raise StorageError(f"the storage {self.path} was locked by another program for {minutes:g} minutes")

    def _advice(self, error: sqlite3.Error) -> str:
        """Advise on an error that is not the study's fault, and is not charged."""
        if error.sqlite_errorcode & 0xFF not in _FILE_ERRORS:
            return ""
        full = shutil.disk_usage(self.path.parent).free < _ROOM  # SQLite may call that an I/O error
        what = "make room: the file system is full" if full else "make sure that the file and its folder can be written"
        return f". The events before are kept: {what}, and run it again"

    def _check_identity(self) -> None:
        """Check that the file is still the one that was opened."""
        self._checked = ticks()
        if self._identity is not None and _identity(self._file) != self._identity:
            what = "replaced" if os.path.exists(self._file) else "deleted"
            raise StorageError(
                f"the storage {self.path} was {what} while it was in use; what happened since is not in it. "
                "Put the file back, or start a new study"
            )

    def _rows(self, query: str, *values: object) -> list[Any]:
        if getattr(self._local, "connection", None) is not None:
            rows = self._retry(lambda: self._writer().execute(query, values).fetchall())
        else:
            rows = self._retry(lambda: self._look(query, values)) if self._exists() else []
        self._check_identity()
        return rows

    def _exists(self) -> bool:
        """Return whether there is a storage to look at: this object, or another process, may have created it by now."""
        if not self._has_tables:
            self._identity = self._identity or _identity(self._file)
            self._has_tables = self._identity is not None and self._check_tables()
        return self._has_tables

    def studies(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM studies ORDER BY id")]

    def find(self, name: str) -> int | None:
        rows = self._rows("SELECT id FROM studies WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def create(self, name: str, opened: Event) -> int:
        rows = rows_of([opened], 0, first_link(name))

        def insert() -> int:
            with self._writer() as connection:
                connection.execute("BEGIN IMMEDIATE")
                study = connection.execute("INSERT INTO studies (name) VALUES (?)", (name,)).lastrowid or 0
                connection.execute(INSERT, (study, *rows[0]))
            return study

        try:
            study = self._retry(insert)
        except sqlite3.IntegrityError:
            if self.find(name) is None:
                raise CorruptLog(f"the storage {self.path} has events of a study that it does not list") from None
            raise Conflict(f"there is a study {name!r} already") from None
        self._ends.note(study, 1, rows[0].checksum)
        return study

    def read(self, study: int, start: int) -> list[Event]:
        rows = self._rows(SELECT, study, start)
        if not rows:
            return []
        try:
            if start == 0 and (found := self._rows("PRAGMA integrity_check(1)")) != [("ok",)]:
                raise CorruptLog(str(found[0][0]).strip())  # a damaged page may hide the last events
            events = list(events_of(rows, start, self._ends.link(study, start, self._stored_link)))
        except CorruptLog as error:
            advice = f"See what can be saved with: shoestring repair {self.path}"
            raise CorruptLog(f"the storage {self.path} is damaged: {error}. {advice}", error.event) from None
        self._ends.note(study, start + len(rows), rows[-1][4])
        return events

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        link = self._ends.link(study, expect, self._stored_link)
        rows = rows_of(events, expect, link)
        links = [link, *(row.checksum for row in rows)]
        values = [(study, *row, before) for row, before in zip(rows, links, strict=False)]

        def insert() -> bool:
            connection = self._writer()
            if len(values) == 1:  # a transaction of its own, and twice as fast as an explicit one
                return connection.execute(_APPEND, values[0]).rowcount == 1
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                return connection.executemany(_APPEND, values).rowcount == len(values)

        try:
            appended = self._retry(insert)
        except sqlite3.IntegrityError:
            raise Conflict(f"position {expect} was taken by another process") from None
        if not appended:
            self._refuse(study, expect)
        self._ends.note(study, expect + len(rows), rows[-1].checksum)
        if ticks() - self._checked > _UNCHECKED:
            self._check_identity()

    def _refuse(self, study: int, expect: int) -> None:
        """Raise why an append did not find the event before it."""
        if self._rows(_LINK, study, expect):
            raise Conflict(f"position {expect} was taken by another process")
        raise StorageError(
            f"the storage {self.path} has lost events that it had: event {expect - 1} is missing or was replaced. "
            "Open the study again to continue from what is left"
        )

    def rename(self, study: int, name: str, expect: int, move: Callable[[], None]) -> None:
        def change(connection: sqlite3.Connection, rows: list[Any]) -> None:
            connection.execute("UPDATE studies SET name = ? WHERE id = ?", (name, study))
            changed = ((row.checksum, study, row.seq) for row in relink(rows, first_link(name)))
            connection.executemany("UPDATE events SET checksum = ? WHERE study = ? AND seq = ?", changed)

        self._change(study, expect, change, move)

    def remove(self, study: int, expect: int, move: Callable[[], None]) -> None:
        def change(connection: sqlite3.Connection, _: list[Any]) -> None:
            for table, column in (("workers", "study"), ("events", "study"), ("studies", "id")):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (study,))

        self._change(study, expect, change, move)

    def _change(
        self, study: int, expect: int, change: Callable[[sqlite3.Connection, list[Any]], None], move: Callable[[], None]
    ) -> None:
        """Change a whole study in one transaction, if nothing was appended since."""

        def transact() -> None:
            connection = self._writer()
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                rows = connection.execute(SELECT, (study, 0)).fetchall()
                if len(rows) != expect:
                    raise Conflict(f"the study has {len(rows)} events, not {expect}")
                change(connection, rows)
                move()

        try:
            self._retry(transact)
        except sqlite3.IntegrityError:
            raise Conflict("there is a study of this name already") from None
        self._ends.forget(study)

    def advisory_lock(self, study: int) -> AbstractContextManager[None]:
        # Not SQLite's own write lock: it would keep the others from sending heartbeats while this one decides.
        return self._lock.hold()

    def _stored_link(self, study: int, position: int) -> str | None:
        found = self._rows(_LINK, study, position) if position >= 0 else self._rows(_NAME, study)
        return found[0][0] if found else None

    def beat(self, study: int, worker: str) -> None:
        # With a connection of its own, because the thread that beats ends with the process only.
        def store() -> None:
            with closing(connect(self.path, "mode=rw")) as connection:
                connection.execute(_BEAT, (study, worker))
                connection.execute(_FORGET, (study,))

        self._retry(store)

    def beats(self, study: int) -> dict[str, tuple[float, float]]:
        return {worker: (beat, age) for worker, beat, age in self._rows(_BEATS, study)}

    def directory(self) -> Path:
        return self.path.with_name(self.path.name + ".files")


def is_unused(file: str) -> bool:
    """Return whether a database lacks the files that SQLite keeps next to it while a process writes."""
    return not os.path.exists(file + "-wal") and not os.path.exists(file + "-journal")


def connect(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?{options}", timeout=_TIMEOUT, isolation_level=None, uri=True)
    connection.text_factory = _decode
    return connection


def _read(path: Path, mode: str, query: str, values: tuple[object, ...]) -> list[Any]:
    with closing(connect(path, mode)) as connection:
        return connection.execute(query, values).fetchall()


def _identity(file: str) -> tuple[int, int] | None:
    """Identify a file among others of the same name; None if it does not exist."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _decode(stored: bytes) -> str:
    """Decode stored text, which damage may have turned into something other than UTF-8."""
    return stored.decode("utf-8", "surrogateescape")


def _without_spaces(sql: str) -> str:
    return "".join(sql.split())


# Without SQLite's own: the indices of primary keys, and statistics.
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
_DEFINITIONS = {
    name: _without_spaces(f"CREATE TABLE {name} ({rest}")
    for name, rest in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?);", TABLES, re.DOTALL)
}
_NEEDED = {"studies": {"id", "name"}, "events": {"study", "seq", "kind", "at", "body"}}
# Only after the event that it is chained to: a log that has lost events gets no gap.
_APPEND = (
    "INSERT INTO events (study, seq, kind, at, body, checksum) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
    "WHERE EXISTS (SELECT 1 FROM events WHERE study = ?1 AND seq = ?2 - 1 AND checksum = ?7)"
)
INSERT = "INSERT INTO events (study, seq, kind, at, body, checksum) VALUES (?, ?, ?, ?, ?, ?)"
SELECT = "SELECT seq, kind, at, body, checksum FROM events WHERE study = ? AND seq >= ? ORDER BY seq"
_NAME = "SELECT name FROM studies WHERE id = ?"
_LINK = "SELECT checksum FROM events WHERE study = ? AND seq = ?"
# The database's own clock, in seconds.
_NOW = "(julianday('now') - 2440587.5) * 86400.0"
_BEAT = (
    f"INSERT INTO workers (study, worker, beat) VALUES (?, ?, {_NOW}) "
    "ON CONFLICT (study, worker) DO UPDATE SET beat = excluded.beat"
)
_FORGET = f"DELETE FROM workers WHERE study = ? AND beat < {_NOW} - 7 * 86400"
_BEATS = f"SELECT worker, beat, {_NOW} - beat FROM workers WHERE study = ? ORDER BY beat"
