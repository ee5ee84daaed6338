"""A log in memory, which ends with the process."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from shoestring.core.events import Event
from shoestring.core.locks import ThreadLock
from shoestring.errors import Conflict, StorageError


class MemoryLog:
    """Studies in memory, for this process alone; files of trials are in a temporary folder."""

    def __init__(self) -> None:
        self._names: list[str | None] = []  # None for one that was deleted
        self._events: list[list[Event]] = []
        self._lock = ThreadLock()
        self._directory: Path | None = None

    def studies(self) -> list[str]:
        return [name for name in self._names if name is not None]

    def find(self, name: str) -> int | None:
        return self._names.index(name) if name in self._names else None

    def create(self, name: str, opened: Event) -> int:
        with self._lock:
            if name in self._names:
                raise Conflict(f"there is a study {name!r} already")
            self._events.append([opened])
            self._names.append(name)
            return len(self._names) - 1

    def read(self, study: int, start: int) -> list[Event]:
        return self._events[study][start:]

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        with self._lock:
            log = self._events[study]
            if len(log) < expect:
                raise StorageError("the study was deleted, so nothing can be added to it: start a new one")
            if len(log) > expect:
                raise Conflict(f"position {expect} was expected, the log is at {len(log)}")
            log.extend(events)

    def rename(self, study: int, name: str, expect: int, move: Callable[[], None]) -> None:
        self._change(study, expect, name, self._events[study], move)

    def remove(self, study: int, expect: int, move: Callable[[], None]) -> None:
        self._change(study, expect, None, [], move)

    def _change(self, study: int, expect: int, name: str | None, events: list[Event], move: Callable[[], None]) -> None:
        with self._lock:
            if len(self._events[study]) != expect or (name is not None and name in self._names):
                raise Conflict("the study has other events than expected, or the name is taken")
            move()
            self._names[study], self._events[study] = name, events

    def directory(self) -> Path:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="shoestring-"))
            weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        return self._directory
