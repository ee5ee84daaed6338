"""The time of a study, which cannot be set.

The time of day is what several processes share, and it can be set at any moment; a monotonic clock cannot, and it means
nothing to another process. So the next event is stamped with the last stamp plus the time that passed since: what the
time of day says, within the limits that the monotonic clock of this process sets. While a process appends one event
after another these limits are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from shoestring.core.workers import now, ticks

if TYPE_CHECKING:
    from shoestring.core.history import History

# The time of day is believed if it is within this many seconds of the limits; it is adjusted a little all the time.
_SLACK = 0.05


class StudyClock:
    def __init__(self, day: Callable[[], float] = now, steady: Callable[[], float] = ticks) -> None:
        self.day = day
        self.ticks = steady
        self._absent = -math.inf  # when the last event was not there yet, as far as this process knows
        self._known = steady()  # when it was there
        self._looked = -math.inf
        self._read = 0.0

    def read(self, history: History) -> tuple[float, float]:
        """The study's time, and how far the time of day is ahead of it."""
        self._read, day = self.ticks(), self.day()
        at, before = day - history.drift, history.now
        least, most = before + self._read - self._known, before + self._read - self._absent
        if not least - _SLACK <= at <= most + _SLACK:  # the clock was set
            at = min(max(at, least), most)
        at = max(at, before)
        if not history.running:  # this time is not charged
            at = max(at, day)
        drift = day - at
        return at, drift if abs(drift) > 1e-6 else 0.0

    def stamp(self, history: History) -> tuple[float, float]:
        """The time of the next event, never after the deadline, and how far the time of day is ahead of it."""
        at, drift = self.read(history)
        deadline = history.deadline()
        return (at, drift) if deadline is None or at <= deadline else (deadline, drift + at - deadline)

    def seconds_left(self, history: History) -> float:
        """The seconds until the deadline of the budget."""
        deadline = history.deadline()
        return math.inf if deadline is None else deadline - self.read(history)[0]

    def record_look(self, at: float, found: bool) -> None:
        """Take note that the log was read at this moment of the steady clock."""
        if found:
            self._absent, self._known = self._looked, self.ticks()
        self._looked = at

    def record_append(self) -> None:
        """An event was appended that was stamped with the last ``read``."""
        self._absent = self._known = self._looked = self._read
