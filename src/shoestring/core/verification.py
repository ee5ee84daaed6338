"""Verification: replay a log and check every decision in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from shoestring.core.decisions import Method
from shoestring.core.events import Event, Granted
from shoestring.core.grants import next_grant
from shoestring.core.history import History


@dataclass(frozen=True)
class Verification:
    """The number of grants that were decided again, and the position of the first that differs; true if none does."""

    checked: int
    position: int | None = None
    difference: str = ""

    @property
    def ok(self) -> bool:
        return self.position is None

    def __bool__(self) -> bool:
        return self.ok


def verify(events: Iterable[Event], method: Method) -> Verification:
    """Let the method decide again at every grant of a log."""
    history, checked = History(), 0
    for position, event in enumerate(events):
        if isinstance(event, Granted):
            again = next_grant(method, history, event.worker, event.at, event.drift)
            if again != event:
                return Verification(checked, position, _difference(event, again))
            checked += 1
        history.apply(event)
    return Verification(checked)


def _difference(stored: Granted, again: object) -> str:
    if not isinstance(again, Granted):
        return f"the log grants trial {stored.trial}, the method decides {again!r}"
    name = next(f.name for f in fields(stored) if getattr(stored, f.name) != getattr(again, f.name))
    return f"{name} is {getattr(stored, name)!r} in the log, the method decides {getattr(again, name)!r}"
