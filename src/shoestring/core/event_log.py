"""The protocol of a log of events: ``read`` from a position, ``append`` at an expected one.

A log has no locks. An append says at which position it goes. If another process was first,
:class:`~shoestring.errors.Conflict` is raised, and the caller reads the new events and decides again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from shoestring.core.events import Event
from shoestring.errors import MethodError, StudyNotFound

# Most file systems allow 255 bytes for a name.
_LONGEST_NAME = 200


def check_name(name: object) -> str:
    """Check the name of a study, given or stored: it must be able to name a folder, which holds its files."""
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or any(c in name for c in "/\\"):
        raise MethodError(f"the study's name is {name!r:.80}; it must be a text without slashes")
    if not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise MethodError(
            f"the study's name is {name!r:.80}; it must be one line of at most {_LONGEST_NAME} bytes of printable text"
        )
    return name


class EventLog(Protocol):
    def studies(self) -> list[str]:
        """The names of the studies, oldest first."""
        ...

    def find(self, name: str) -> int | None:
        """Find the study's number, or None if it does not exist."""
        ...

    def create(self, name: str, opened: Event) -> int:
        """Create a study with its first event; ``Conflict`` if the name is taken."""
        ...

    def read(self, study: int, start: int) -> list[Event]:
        """The events from position ``start`` on."""
        ...

    def append(self, study: int, events: Sequence[Event], expect: int) -> None:
        """Append at position ``expect``, all or none; ``Conflict`` if that position is taken."""
        ...

    def directory(self) -> Path:
        """Return the folder for the files of trials; the first process that writes there creates it."""
        ...


@runtime_checkable
class SharedLog(EventLog, Protocol):
    """A log that several processes use keeps the last heartbeat of each worker, next to the events."""

    def beat(self, study: int, worker: str) -> None:
        """Store a heartbeat, with the time of the storage's own clock; callable from any thread."""
        ...

    def beats(self, study: int) -> dict[str, tuple[float, float]]:
        """The time of each worker's last heartbeat, and how many seconds ago that is by the same clock."""
        ...


@runtime_checkable
class HasAdvisoryLock(EventLog, Protocol):
    """A log with an advisory lock, so that what its holder decides is not made void by another process's event.

    The lock saves time and protects nothing: an append counts whether or not its process has the lock, and no process
    waits for it without end.
    """

    def advisory_lock(self, study: int) -> AbstractContextManager[None]:
        """Wait for the lock, and hold it until something is appended or the block ends."""
        ...


@runtime_checkable
class CountsConflicts(EventLog, Protocol):
    """A log that says how much its users are in each other's way."""

    def conflicts(self, study: int) -> dict[str, int]:
        """Return how often each worker found a position taken, as of its last heartbeat."""
        ...


@runtime_checkable
class ManagesStudies(EventLog, Protocol):
    """A log that can rename and delete whole studies. ``Conflict`` if a study does not have ``expect`` events.

    ``move`` moves the files of the study; if it fails, nothing is changed.
    """

    def rename(self, study: int, name: str, expect: int, move: Callable[[], None]) -> None:
        """Give a study another name, which its checksums are chained to from then on."""
        ...

    def remove(self, study: int, expect: int, move: Callable[[], None]) -> None:
        """Delete a study and its events."""
        ...


def find_study(log: EventLog, storage: object, name: str | None) -> tuple[int, str]:
    """The number and the name of a study in a log; the name may be None if there is only one."""
    known = log.studies()
    if name is None and len(known) == 1:
        name = known[0]
    number = None if name is None else log.find(check_name(name))
    if number is None or name is None:
        held = ", ".join(map(repr, known)) if known else "no study"
        asked = f"there is no study {name!r} in {storage}" if name else f"say which study of {storage} is meant"
        raise StudyNotFound(f"{asked}; it holds {held}")
    return number, name


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: of what is read from a log nothing is garbage, and looking for it takes a third."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
