"""Past studies and their histories: read from their logs, and checked as any log is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from shoestring.core.checksums import first_link, rows_of
from shoestring.core.event_log import EventLog, gc_paused
from shoestring.core.events import Event
from shoestring.core.history import History
from shoestring.errors import ReadingError, ShoestringError
from shoestring.logs import SqliteLog, open_log
from shoestring.logs.addresses import hide_password, sqlite_path

AUTO = "auto"


@runtime_checkable
class HasEvents(Protocol):
    """A study, as far as its log is concerned."""

    @property
    def name(self) -> str: ...

    def events(self) -> list[Event]: ...


# What ``past=`` takes: storages, studies, "auto", or a list of these.
Past = str | Path | EventLog | HasEvents | Sequence[Any] | None


class Source(NamedTuple):
    """A past study: its name, the digest of its log, and its history, or else why it could not be read."""

    name: str
    digest: str
    history: History | None
    problem: str = ""


def items_of(past: Past) -> Sequence[Any]:
    """List the sources of a past; a past that is not a list is the only one."""
    return past if isinstance(past, (list, tuple)) else [past]


def sources(past: Past, own: EventLog, name: str) -> list[Source]:
    """The studies that are meant, but for the one with this name in its own log."""
    with gc_paused():
        found = [source for item in items_of(past) for source in _of(item, own, name)]
    return list({source.digest or object(): source for source in found}.values())  # each once


def described(past: Past) -> str:
    """Describe ``past=`` in words."""
    names = [_shown(item) for item in items_of(past)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _shown(item: Any) -> str:
    if item == AUTO:
        return "this storage"
    return hide_password(item) if isinstance(item, (str, Path)) else getattr(item, "name", "") or type(item).__name__


def _of(item: Any, own: EventLog, name: str) -> Iterator[Source]:
    if isinstance(item, HasEvents):
        yield _restored(item.name, item.events())
        return
    if not isinstance(item, (str, Path)) and not hasattr(item, "studies"):
        raise ReadingError(
            f"past is {item!r:.80}; give a storage such as 'team.db', an ss.Study, 'auto' for the studies of the same "
            "storage, or a list of these"
        )
    log = own if is_own(item, own) else open_log(item, create=False)
    for other in log.studies():
        if log is not own or other != name:
            yield _stored(log, other)


def is_own(item: Any, own: EventLog) -> bool:
    """Return whether a past is the storage of the new study itself, whose file need not be there yet."""
    if isinstance(own, SqliteLog) and isinstance(item, (str, Path)) and item != AUTO:
        path = sqlite_path(str(item))
        return bool(path) and Path(path).expanduser().absolute() == own.path
    return item is own or item == AUTO


def _stored(log: EventLog, name: str) -> Source:
    number = log.find(name)
    try:
        events = [] if number is None else log.read(number, 0)
    except ShoestringError as error:
        return Source(name, "", None, str(error))
    return _restored(name, events)


def _restored(name: str, events: Sequence[Event]) -> Source:
    history = History()
    try:
        for event in events:
            history.restore(event)
        _ = history.opened
    except ShoestringError as error:
        return Source(name, "", None, str(error))
    return Source(name, rows_of(events, 0, first_link(name))[-1].checksum, history)
