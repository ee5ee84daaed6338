"""A log in a PostgreSQL database, for processes on any number of hosts (needs psycopg).

The tables are the same as in the SQLite log, and ``PRIMARY KEY (study, seq)`` is the only concurrency control. Every
change is one statement; no table and no row is ever locked while a client is slow, stopped or cut off. An append
demands the event before it: if a server lost its last events, as a replica may have that took over from a server that
failed, the log says so and gets no gap.

A lost connection is re-established for ten minutes. If it was lost during an append, it is unknown whether that was
done. So an append that finds its position taken compares checksums: the stored event may be its own first attempt.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from shoestring.core import heartbeats
from shoestring.core.checksums import Ends, Row, events_of, first_link, relink, rows_of
from shoestring.core.events import Event
from shoestring.core.workers import ticks
from shoestring.errors import Conflict, CorruptLog, StorageError
from shoestring.logs.addresses import check_address, hide_password

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
except ImportError as error:
    raise StorageError(f"PostgreSQL needs psycopg ({error}): pip install 'shoestring[postgres]'") from None

T = TypeVar("T")

_logger = logging.getLogger("shoestring")

# Reconnect for up to this many seconds, enough for a restart of the server or the network.
_PATIENCE = 600.0
_LONGEST_PAUSE = 2.0
# A connection whose other end is silent is given up after about 15 seconds; the address may say otherwise.
_DEFAULTS = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 5,
    "tcp_user_timeout": 15000,
    "application_name": "shoestring",
    "client_encoding": "UTF8",
}
# The first number of our advisory locks; the second is the study's.
_LOCKS = 73055148
# These pass by themselves, even if the connection is still there.
_PASSING = (
    errors.AdminShutdown, errors.CannotConnectNow, errors.DeadlockDetected, errors.QueryCanceled,
    errors.SerializationFailure,
)  # fmt: skip
# What a server says that has no room for a connection now. It is known by its words only: a connection that was refused
# has no error code. In another language than English it is not recognised, and a first connection then fails at once.
_NO_ROOM = re.compile(
    "too many clients|too many connections|remaining connection slots|is starting up|in recovery mode"
)


class PostgresLog:
    """``files`` is the folder for the files of trials. Let all hosts have the same one, or they start over the trials
    that they take over from each other; by default it is DATABASE.files in the current directory.
    """

    def __init__(self, address: str, files: str | os.PathLike[str] | None = None) -> None:
        check_address(address)
        self.shown = hide_password(address)
        try:
            self._options: dict[str, Any] = {**_DEFAULTS, **conninfo_to_dict(address)}
        except psycopg.Error:  # whose message may quote a password
            raise StorageError(
                f"the storage {self.shown} is not an address; write postgresql://USER@HOST:PORT/DATABASE"
            ) from None
        self._process = os.getpid()
        self._connections: dict[int, psycopg.Connection[Any]] = {}  # of each thread
        weakref.finalize(self, _close, self._connections, self._process)
        self._was_connected = False
        self._ends = Ends()
        self._conflicts: dict[int, int] = {}
        self._has_tables = self._check_tables()
        name = self._retry(lambda: self._connection().info.dbname)
        self._files = Path(files or f"{name}.files").expanduser().absolute()

    def __repr__(self) -> str:
        return f"PostgresLog({self.shown!r})"

    def _check_tables(self) -> bool:
        """Return whether the database has our tables; tables of another program are refused."""
        found: dict[str, set[str]] = {}
        for table, column in self._rows(_COLUMNS):
            found.setdefault(table, set()).add(column)
        if found and not all(columns <= found.get(table, set()) for table, columns in _NEEDED.items()):
            raise StorageError(
                f"{self.shown} has a table {' or '.join(sorted(found))} of another program; create a database for "
                "shoestring, or name a schema of its own: ...?options=-csearch_path%3DSCHEMA"
            )
        return bool(found)

    def _connect(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = psycopg.connect(autocommit=True, **self._options)
        self._was_connected = True
        # The primary key is the concurrency control: a stricter isolation would only refuse what it allows. A process
        # that is stopped or cut off while it has the advisory lock loses it when its lease expires.
        connection.execute(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; "
            f"SET idle_in_transaction_session_timeout = {int(1000 * heartbeats.LEASE)}".encode()
        )
        return connection

    def _connection(self) -> psycopg.Connection[Any]:
        """The connection of this thread."""
        if os.getpid() != self._process:
            raise StorageError(
                f"the storage {self.shown} was opened before this process was forked; open the study again in it"
            )
        thread = threading.get_ident()
        if thread not in self._connections:
            self._connections[thread] = self._connect()
        return self._connections[thread]

    def _drop_connection(self) -> None:
        if (connection := self._connections.pop(threading.get_ident(), None)) is not None:
            connection.close()

    def _retry(self, action: Callable[[], T]) -> T:
        """Do something, and again with a new connection as long as the old one is lost."""
        end, pause, said = ticks() + _PATIENCE, 0.02, False
        while True:
            try:
                return action()
            except (errors.UniqueViolation, errors.UndefinedTable):
                raise
            except psycopg.Error as error:
                if not self._is_passing(error) or ticks() > end:
                    self._end_lock()
                    raise StorageError(self._about(error)) from None
                self._drop_connection()
                if not said and pause > 0.1:
                    _logger.warning("%s; it is tried again for %g minutes", self._about(error), _PATIENCE / 60)
                    said = True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _is_passing(self, error: psycopg.Error) -> bool:
        """Tell whether an error is one of the connection, which passes, not one of the address or of the request."""
        if not self._was_connected:
            return _NO_ROOM.search(str(error)) is not None
        connection = self._connections.get(threading.get_ident())
        gone = connection is None or connection.closed or error.sqlstate is None
        return gone or isinstance(error, _PASSING)

    def _about(self, error: psycopg.Error) -> str:
        return f"the storage {self.shown} cannot be used: {' '.join(str(error).split())}"

    def _rows(self, query: str, *values: object) -> list[Any]:
        """Run a query; it finds nothing before the tables exist, and does not create them."""
        try:
            return self._retry(lambda: self._connection().execute(query.encode(), values).fetchall())
        except errors.UndefinedTable:
            return []

    def studies(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM studies ORDER BY id")]

    def find(self, name: str) -> int | None:
        rows = self._rows("SELECT id FROM studies WHERE name = %s", name)
        return int(rows[0][0]) if rows else None

    def create(self, name: str, opened: Event) -> int:
        (row,) = rows_of([opened], 0, first_link(name))

        def insert() -> int:
            connection = self._connection()
            if not self._has_tables:
                connection.execute(_TABLES)
                self._has_tables = True
            found = connection.execute(_CREATE, (name, *row)).fetchone()
            assert found is not None
            return int(found[0])

        try:
            study = self._retry(insert)
        except errors.UniqueViolation:
            # If it is our own first attempt, whose answer was lost, we continue that study like any other process.
            raise Conflict(f"there is a study {name!r} already") from None
        self._ends.note(study, 1, row.checksum)
        return study

    def read(self, study: int, start: int) -> list[Event]:
        rows = self._rows(_SELECT, study, start)
        if not rows:
            return []
        try:
            found = list(events_of(rows, start, self._ends.link(study, start, self._stored_link)))
        except CorruptLog as error:
            advice = "Restore the database from a copy, or start a new study"
            raise CorruptLog(f"the storage {self.shown} is damaged: {error}. {advice}", error.event) from None
        self._ends.note(study, start + len(rows), rows[-1][4])
        return found

    @contextmanager
    def advisory_lock(self, study: int) -> Iterator[None]:
        """Hold the lock of a transaction, which ends with the next append; without a connection there is none."""
        try:
            self._connection().execute(f"BEGIN; SELECT pg_advisory_xact_lock({_LOCKS}, {study})".encode())
        except psycopg.Error:
            self._end_lock()
        try:
            yield
        finally:
            self._end_lock()

    def _end_lock(self) -> None:
        connection = self._connections.get(threading.get_ident())
        if connection is not None and connection.info.transaction_status != TransactionStatus.IDLE:
            try:
                connection.execute("ROLLBACK")
            except psycopg.Error:
                self._drop_connection()

    def conflicts(self, study: int) -> dict[str, int]:
        return dict(self._rows("SELECT worker, conflicts FROM workers WHERE study = %s", study))

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        link = self._ends.link(study, expect, self._stored_link)
        rows = rows_of(events, expect, link)
        values = (study, *(list(column) for column in zip(*rows, strict=True)), study, expect - 1, link, study, expect)

        attempts = 0

        def insert() -> bool:
            nonlocal attempts
            attempts += 1
            try:
                return self._insert(values) == len(rows)
            except errors.UniqueViolation:
                self._end_lock()
                return False

        if not self._retry(insert):
            self._recognise(study, rows, may_be_there=attempts > 1)
        self._ends.note(study, expect + len(rows), rows[-1].checksum)

    def _insert(self, values: tuple[object, ...]) -> int:
        """Append in one statement, and release the advisory lock if this process has it."""
        connection = self._connection()
        if connection.info.transaction_status == TransactionStatus.IDLE:
            return int(connection.execute(_APPEND, values).rowcount)
        inserted = int(connection.execute(_APPEND, values).rowcount)
        connection.execute("COMMIT")
        return inserted

    def _recognise(self, study: int, rows: Sequence[Row], may_be_there: bool) -> None:
        """Raise why an append was refused, unless an attempt whose answer was lost has done it."""
        first = rows[0].seq
        stored = dict(self._rows(_CHECKSUMS, study, first - 1, rows[-1].seq))
        if may_be_there and all(stored.get(row.seq) == row.checksum for row in rows):
            return
        if first in stored:
            self._conflicts[study] = self._conflicts.get(study, 0) + 1
            raise Conflict(f"position {first} was taken by another process")
        raise StorageError(
            f"the storage {self.shown} has lost events that it had: event {first - 1} is missing or was replaced. "
            "Open the study again to continue from what is left"
        )

    def rename(self, study: int, name: str, expect: int, move: Callable[[], None]) -> None:
        def change(connection: psycopg.Connection[Any], rows: list[Any]) -> None:
            connection.execute("UPDATE studies SET name = %s WHERE id = %s", (name, study))
            changed = list(relink(rows, first_link(name)))
            places, checksums = [row.seq for row in changed], [row.checksum for row in changed]
            connection.execute(_RELINK, (places, checksums, study))

        self._change(study, expect, change, move)

    def remove(self, study: int, expect: int, move: Callable[[], None]) -> None:
        def change(connection: psycopg.Connection[Any], _: list[Any]) -> None:
            connection.execute("DELETE FROM workers WHERE study = %s", (study,))
            connection.execute("DELETE FROM events WHERE study = %s", (study,))
            connection.execute("DELETE FROM studies WHERE id = %s", (study,))

        self._change(study, expect, change, move)

    def _change(
        self, study: int, expect: int, change: Callable[[psycopg.Connection[Any], list[Any]], None],
        move: Callable[[], None],
    ) -> None:  # fmt: skip
        """Change a whole study in one transaction, if nothing was appended since; appends wait for its end.

        It is not tried again: if the connection is lost, it is unknown whether that was done.
        """
        try:
            connection = self._connection()
            with connection.transaction():
                connection.execute("LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE")
                rows = connection.execute(_SELECT.encode(), (study, 0)).fetchall()
                if len(rows) != expect:
                    raise Conflict(f"the study has {len(rows)} events, not {expect}")
                change(connection, rows)
                move()
        except errors.UniqueViolation:
            raise Conflict("there is a study of this name already") from None
        except psycopg.Error as error:
            self._drop_connection()
            raise StorageError(self._about(error)) from None
        self._ends.forget(study)

    def _stored_link(self, study: int, position: int) -> str | None:
        query, values = (_LINK, (study, position)) if position >= 0 else (_NAME, (study,))
        found = self._rows(query, *values)
        return found[0][0] if found else None

    def beat(self, study: int, worker: str) -> None:
        # With a connection of its own, because the thread that beats ends with the process only.
        def store() -> None:
            with closing(self._connect()) as connection:
                connection.execute(_BEAT, (study, worker, self._conflicts.get(study, 0)))
                connection.execute(_FORGET, (study,))

        self._retry(store)

    def beats(self, study: int) -> dict[str, tuple[float, float]]:
        return {worker: (beat, age) for worker, beat, age in self._rows(_BEATS, study)}

    def directory(self) -> Path:
        return self._files


def _close(connections: dict[int, psycopg.Connection[Any]], process: int) -> None:
    """Close the connections of a log that was collected; a forked process has only copies, which are not its own."""
    while connections and os.getpid() == process:
        connections.popitem()[1].close()


# One process at a time: "IF NOT EXISTS" does not help two that create a table at the same moment. The number is ours.
_TABLES = """
BEGIN;
SELECT pg_advisory_xact_lock(7305514823951);
CREATE TABLE IF NOT EXISTS studies (
    id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    created TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS events (
    study INTEGER NOT NULL REFERENCES studies (id), seq INTEGER NOT NULL,
    kind TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (study, seq)
);
CREATE TABLE IF NOT EXISTS workers (
    study INTEGER NOT NULL REFERENCES studies (id), worker TEXT NOT NULL, beat DOUBLE PRECISION NOT NULL,
    conflicts INTEGER NOT NULL, PRIMARY KEY (study, worker)
);
COMMIT;
"""
_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() AND table_name IN ('studies', 'events')"
)
_NEEDED = {"studies": {"id", "name"}, "events": {"study", "seq", "kind", "at", "body", "checksum"}}
_RELINK = (
    "UPDATE events SET checksum = new.checksum FROM unnest(%s::integer[], %s::text[]) AS new (seq, checksum) "
    "WHERE events.study = %s AND events.seq = new.seq"
)
_CREATE = (
    "WITH new AS (INSERT INTO studies (name) VALUES (%s) RETURNING id) "
    "INSERT INTO events (study, seq, kind, at, body, checksum) SELECT id, %s, %s, %s, %s, %s FROM new RETURNING study"
)
_APPEND = (
    "INSERT INTO events (study, seq, kind, at, body, checksum) SELECT %s, row.* "
    "FROM unnest(%s::integer[], %s::text[], %s::double precision[], %s::text[], %s::text[]) AS row "
    "WHERE EXISTS (SELECT FROM events WHERE study = %s AND seq = %s AND checksum = %s) "
    "AND NOT EXISTS (SELECT FROM events WHERE study = %s AND seq = %s)"
)
_SELECT = "SELECT seq, kind, at, body, checksum FROM events WHERE study = %s AND seq >= %s ORDER BY seq"
_CHECKSUMS = "SELECT seq, checksum FROM events WHERE study = %s AND seq BETWEEN %s AND %s"
_NAME = "SELECT name FROM studies WHERE id = %s"
_LINK = "SELECT checksum FROM events WHERE study = %s AND seq = %s"
# The database's own clock, in seconds.
_NOW = "extract(epoch FROM clock_timestamp())::double precision"
_BEAT = (
    f"INSERT INTO workers (study, worker, conflicts, beat) VALUES (%s, %s, %s, {_NOW}) "
    "ON CONFLICT (study, worker) DO UPDATE SET beat = excluded.beat, conflicts = excluded.conflicts"
)
_FORGET = f"DELETE FROM workers WHERE study = %s AND beat < {_NOW} - 7 * 86400"
_BEATS = f"SELECT worker, beat, {_NOW} - beat FROM workers WHERE study = %s ORDER BY beat"
