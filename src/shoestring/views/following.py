"""A stored study that is read while others write it: only what is new is read each time."""

from __future__ import annotations

from shoestring.core.event_log import EventLog, check_name
from shoestring.errors import StudyNotFound
from shoestring.views.trace import Trace


class Followed:
    """The trace of a stored study, brought up to date by ``update``."""

    def __init__(self, log: EventLog, name: str) -> None:
        number = log.find(check_name(name))
        if number is None:
            raise StudyNotFound(f"there is no study {name!r}; the storage holds {', '.join(map(repr, log.studies()))}")
        self._log, self.number = log, number
        self.trace = Trace(name, again=lambda: log.read(number, 0))
        self.update()

    def update(self) -> bool:
        """Read what was appended; whether there was anything."""
        events = self._log.read(self.number, self.trace.history.position)
        self.trace.extend(events)
        return bool(events)
