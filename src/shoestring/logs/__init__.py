"""Logs: where the events of studies are stored."""

from __future__ import annotations

from pathlib import Path

from shoestring.core.event_log import EventLog
from shoestring.errors import StorageError
from shoestring.logs.memory import MemoryLog
from shoestring.logs.sqlite import SqliteLog

__all__ = ["MemoryLog", "SqliteLog", "open_log"]

_KNOWN = "give None (memory), a path such as 'study.db', 'sqlite:///study.db' or 'sqlite:////absolute/path/study.db'"


def open_log(storage: str | Path | EventLog | None, create: bool = True) -> EventLog:
    """The log of a storage: None is memory, a path or ``sqlite:///path`` a SQLite file.

    Without ``create`` a missing file is an error, so that a mistyped name does not become a new database.

    >>> from shoestring.logs import open_log
    >>> open_log(None).studies()
    []
    """
    if storage is None or storage == "memory":
        return MemoryLog()
    if isinstance(storage, Path):
        storage = str(storage)
    if not isinstance(storage, str):
        if not isinstance(storage, type) and all(
            hasattr(storage, verb) for verb in ("find", "create", "read", "append")
        ):
            return storage
        raise StorageError(f"{storage!r} is no storage; {_KNOWN}")
    scheme, colon, rest = storage.partition("://")
    if colon and scheme != "sqlite":
        raise StorageError(f"the storage {storage!r} has the scheme {scheme!r}, which is not known; {_KNOWN}")
    path = rest.removeprefix("/") if colon else storage
    if not path:
        raise StorageError(f"the storage {storage!r} names no file; {_KNOWN}")
    if not create and not Path(path).expanduser().exists():
        raise StorageError(f"there is no storage {storage}; give the file that holds the study, such as study.db")
    return SqliteLog(Path(path))
