"""The chain of checksums: how a log notices that what it stored was damaged or edited.

Every stored event has a checksum of itself and of the checksum before it; the first is chained to the study's name. So
a row that was changed, removed, inserted or moved breaks the chain at that place. A log that lost its last events is a
valid shorter log: that is what a power failure leaves, and the study continues from there. The checksums notice damage.
They are not signatures: anyone who can write to the storage can compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from shoestring.core.events import Event, from_json, to_json
from shoestring.errors import CorruptLog


class Row(NamedTuple):
    """An event in its stored form. A row that was read may hold anything."""

    seq: int
    kind: str
    at: float
    body: str
    checksum: str


def first_link(name: str) -> str:
    """Compute the link that the first event of a study is chained to."""
    return _checksum(name)


def link_event(link: str, seq: int, kind: str, at: float, body: str) -> str:
    """Compute the checksum of an event whose predecessor has the checksum ``link``."""
    return _checksum(f"{link} {seq} {kind} {at!r} {body}")


def rows_of(events: Sequence[Event], start: int, link: str) -> list[Row]:
    """The rows of events from position ``start`` on; ``link`` is the checksum of the event before."""
    rows = []
    for seq, event in enumerate(events, start):
        body = to_json(event)
        link = link_event(link, seq, event.kind, event.at, body)
        rows.append(Row(seq, event.kind, event.at, body, link))
    return rows


def relink(rows: Iterable[tuple[int, str, float, str, str]], link: str) -> Iterator[Row]:
    """The stored rows of a study, chained to another link: that of a new name."""
    for seq, kind, at, body, _ in rows:
        link = link_event(link, seq, kind, at, body)
        yield Row(seq, kind, at, body, link)


def events_of(rows: Iterable[tuple[int, str, float, str, str]], start: int, link: str) -> Iterator[Event]:
    """The events of stored rows, each checked; an error names the first that is missing or damaged."""
    for position, (seq, kind, at, body, checksum) in enumerate(rows, start):
        if seq != position:
            raise CorruptLog(f"event {position} is missing; {_good_until(position)}", position)
        link = link_event(link, seq, kind, at, body)
        if link != checksum:
            raise CorruptLog(f"event {position} was damaged or edited; {_good_until(position)}", position)
        yield from_json(kind, at, body, position)


class Ends:
    """The end of each study as far as one process knows: the number of its events, and the checksum of the last."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, str]] = {}

    def note(self, study: int, position: int, link: str) -> None:
        self._known[study] = position, link

    def forget(self, study: int) -> None:
        self._known.pop(study, None)

    def link(self, study: int, position: int, look: Callable[[int, int], str | None]) -> str:
        """Return the link of the event at a position: the checksum of the one before, or the name of the study.

        An unknown link is looked up: ``look(study, position)`` is a stored checksum, at position -1 the name.
        """
        known, link = self._known.get(study, (-1, ""))
        if known == position:
            return link
        found = look(study, position - 1)  # None is an orphan: whatever it is chained to, it is damaged
        return str(found or "") if position else first_link(str(found))


def _checksum(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _good_until(position: int) -> str:
    return f"the last good one is event {position - 1}" if position else "it is the first"
