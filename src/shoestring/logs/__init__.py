"""Logs: where the events of studies are stored.

``storage=`` takes a log, or what ``open_log`` makes one of: the ``path`` of a file, or the ``address`` of a database.
"""

from __future__ import annotations

import os
from pathlib import Path

from shoestring._lazy import lazy_names
from shoestring.core.event_log import EventLog
from shoestring.errors import StorageError
from shoestring.logs.addresses import check_text, hide_password, is_postgres, is_there, sqlite_path
from shoestring.logs.memory import MemoryLog
from shoestring.logs.sqlite import SqliteLog

# The PostgreSQL log needs psycopg, so it is imported on first use.
_, __getattr__, _dir = lazy_names(__name__, {"postgres": "PostgresLog"})
__all__ = ["MemoryLog", "PostgresLog", "SqliteLog", "open_log"]

_KNOWN = (
    "give None (memory), a path such as 'study.db', 'sqlite:///study.db', 'sqlite:////absolute/path/study.db' or "
    "'postgresql://user@host/database'"
)


def __dir__() -> list[str]:
    return [*globals(), *_dir()]


def open_log(storage: str | Path | EventLog | None, create: bool = True, files: str | Path | None = None) -> EventLog:
    """The log of a storage: None is memory, a path or ``sqlite:///path`` a SQLite file.

    ``postgresql://user@host/database`` is a PostgreSQL database. The files of trials are next to a SQLite file; for a
    database they are in the folder ``files``, or in the folder that the environment variable SHOESTRING_FILES names, or
    else in DATABASE.files in the current directory.

    Without ``create`` a missing file is an error, so that a mistyped name does not become a new database.

    >>> from shoestring.logs import open_log
    >>> open_log(None).studies()
    []
    """
    if storage is None or storage in ("memory", ":memory:", "sqlite://", "sqlite:///:memory:"):
        return MemoryLog()
    if isinstance(storage, Path):
        storage = str(storage)
    if isinstance(storage, str):
        check_text(storage)
    if not isinstance(storage, str):
        if not isinstance(storage, type) and all(
            hasattr(storage, verb) for verb in ("find", "create", "read", "append")
        ):
            return storage
        raise StorageError(f"{storage!r} is not a storage; {_KNOWN}")
    if is_postgres(storage):
        from shoestring.logs.postgres import PostgresLog

        return PostgresLog(storage, files or os.environ.get("SHOESTRING_FILES") or None)
    if files is not None:
        raise StorageError(f"the files of trials are next to the storage {storage}; another folder is for PostgreSQL")
    scheme, colon, _ = storage.partition("://")
    if colon and scheme != "sqlite":
        raise StorageError(
            f"the storage {hide_password(storage)!r} has the scheme {scheme!r}, which is not known; {_KNOWN}"
        )
    path = sqlite_path(storage)
    if not path:
        raise StorageError(f"the storage {storage!r} names no file; {_KNOWN}")
    if not create and not is_there(path):
        raise StorageError(f"there is no storage {storage}; give the file that holds the study, such as study.db")
    return SqliteLog(Path(path))
