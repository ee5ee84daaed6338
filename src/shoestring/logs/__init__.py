"""Where the events are kept: ``read`` them from a position, ``append`` at an expected one.

A log has no locks and no leases. Whoever appends says at which position; if somebody else was
first, :class:`~shoestring.errors.Conflict` is raised, and the caller reads on and decides anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from shoestring.errors import StorageError
from shoestring.events import Event

__all__ = ["Log", "open_log"]


class Log(Protocol):
    def studies(self) -> list[str]:
        """The names of the studies, oldest first."""
        ...

    def find(self, name: str) -> int | None:
        """The study's number, or None if there is no such study."""
        ...

    def create(self, name: str, opened: Event) -> int:
        """Begin a study with its first event; ``Conflict`` if the name is taken."""
        ...

    def read(self, study: int, start: int) -> list[Event]:
        """The events from position ``start`` on."""
        ...

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        """Append at position ``expect``, all or none; ``Conflict`` if that position is taken."""
        ...

    def directory(self) -> Path:
        """Where the files of trials belong; created by whoever writes there first."""
        ...


def open_log(storage: str | Path | Log | None, create: bool = True) -> Log:
    """The log behind a storage: None is memory, a path or ``sqlite:///path`` a SQLite file.

    Without ``create`` a file that is not there is an error: a mistyped name should not become a database.

    >>> from shoestring.logs import open_log
    >>> open_log(None).studies()
    []
    """
    if storage is None or storage == "memory":
        from shoestring.logs.memory import MemoryLog

        return MemoryLog()
    if isinstance(storage, Path):
        storage = str(storage)
    if not isinstance(storage, str):
        if all(hasattr(storage, verb) for verb in ("find", "create", "read", "append")):
            return storage
        raise StorageError(f"{storage!r} is no storage; {_KNOWN}")
    scheme, colon, rest = storage.partition("://")
    if colon and scheme != "sqlite":
        raise StorageError(f"the storage {storage!r} has the scheme {scheme!r}, which is not known; {_KNOWN}")
    path = rest.removeprefix("/") if colon else storage
    if not path:
        raise StorageError(f"the storage {storage!r} names no file; {_KNOWN}")
    from shoestring.logs.sqlite import SqliteLog

    if not create and not Path(path).expanduser().exists():
        raise StorageError(f"there is no storage {storage}; give the file that holds the study, such as study.db")
    return SqliteLog(Path(path))


_KNOWN = "give None (memory), a path such as 'study.db', 'sqlite:///study.db' or 'sqlite:////absolute/path/study.db'"
