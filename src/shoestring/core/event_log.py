"""The protocol of a log of events: ``read`` from a position, ``append`` at an expected one.

A log has no locks. Whoever appends says at which position. If another process was first,
:class:`~shoestring.errors.Conflict` is raised, and the caller reads the new events and decides again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from shoestring.core.events import Event


class EventLog(Protocol):
    def studies(self) -> list[str]:
        """The names of the studies, oldest first."""
        ...

    def find(self, name: str) -> int | None:
        """The study's number, or None if there is no such study."""
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
        """The folder for the files of trials; created by whoever writes there first."""
        ...
