"""The studies of a storage, followed by one thread; a dashboard has two such threads, so that none waits for a forest.

Traces of many long studies would fill the memory. Those that were used last are kept, and of the others what the list
of studies shows.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from shoestring.core.event_log import EventLog, gc_paused
from shoestring.core.heartbeats import WorkerRecord, worker_records
from shoestring.core.workers import ticks
from shoestring.errors import ShoestringError, StorageError
from shoestring.logs import open_log
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.plots.picture import Picture
from shoestring.views.following import Followed
from shoestring.views.formatting import amount, method_name, with_unit
from shoestring.views.progress import best_so_far
from shoestring.views.states import brief_state
from shoestring.views.trace import Trace

# Traces with this many events in all are kept, and the trace of the page that is open.
_MOST_EVENTS = 100_000
# The list of studies is shown after this many seconds, with the studies read by then; the rest follows.
_PATIENCE = 0.5
_KEPT_PICTURES = 64

P = ParamSpec("P")
T = TypeVar("T")
Storage = str | Path | EventLog


@dataclass(frozen=True)
class Overview:
    """A study in the list, at a position of its log; ``problem`` says why it cannot be read.

    ``started`` and ``seconds`` are when its first trial started and how long it ran, ``value`` is the best value, and
    ``curve`` the best value after evenly chosen readings.
    """

    name: str
    position: int = 0
    state: str = "is being read"
    method: str = ""
    spent: str = ""
    trials: int = 0
    value: float | None = None
    started: float | None = None
    seconds: float = 0.0
    curve: tuple[float, ...] = ()
    tags: tuple[str, ...] = ()
    problem: str = ""


def _overview(trace: Trace, state: str) -> Overview:
    history, best = trace.history, trace.history.best()
    spent = ", ".join(
        f"{amount(unit, history.ledger.spent()[unit])} of {with_unit(unit, limit)}"
        for unit, limit in history.ledger.budget.limits().items()
    )
    return Overview(
        trace.name, history.position, state, method_name(history.opened.method), spent, len(history.trials),
        None if best is None else best.value,
        trace.spans[0].begin + history.drift if trace.spans else None,
        history.ledger.seconds, tuple(best_so_far(history)), history.tags,
    )  # fmt: skip


class Reader:
    """Reads the log and nothing else. All calls must come from one thread."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.log = open_log(storage, create=False)
        self._followed: OrderedDict[str, Followed] = OrderedDict()
        self._overviews: dict[str, Overview] = {}
        self._pictures: OrderedDict[tuple[object, ...], Picture] = OrderedDict()

    def trace(self, name: str) -> Trace:
        """A study, brought up to date."""
        return self._retry(lambda: self._update(name))

    def _retry(self, read: Callable[[], T]) -> T:
        """Read again from the start if the storage was replaced."""
        try:
            return read()
        except StorageError:
            self._followed.clear()
            self._overviews.clear()
            self._pictures.clear()
            self.log = open_log(self._storage, create=False)
            return read()

    def _update(self, name: str) -> Trace:
        known = self._followed.get(name)
        if known is not None and self.log.find(name) != known.number:  # it was deleted, or is called otherwise
            del self._followed[name]
        if name not in self._followed:
            with gc_paused():
                self._followed[name] = Followed(self.log, name)
        else:
            self._followed[name].update()
        self._followed.move_to_end(name)
        self._forget(name)
        return self._followed[name].trace

    def _forget(self, name: str) -> None:
        """Drop the traces of other studies that were used least recently and that no process runs."""
        total = sum(each.trace.history.position for each in self._followed.values())
        for other, followed in list(self._followed.items()):
            if total > _MOST_EVENTS and other != name and not followed.trace.history.running:
                del self._followed[other]
                total -= followed.trace.history.position

    def workers(self, trace: Trace) -> list[WorkerRecord]:
        number = self.log.find(trace.name)
        return [] if number is None else list(worker_records(self.log, number, trace.history))

    def version(self, name: str) -> str:
        """Return a version that changes with the contents of a study's page: the log, and the live workers."""
        trace = self.trace(name)
        return f"{trace.history.position} {' '.join(worker.state for worker in self.workers(trace))}".strip()

    def overviews(self) -> list[Overview]:
        """List all studies. A study that was not read in time comes as last seen, or without content."""
        deadline = ticks() + _PATIENCE
        names = self._retry(lambda: self.log.studies())
        for name in sorted(names, key=self._overviews.__contains__):
            if ticks() > deadline:
                break
            self._overviews[name] = self._overview(name)
        return [self._overviews.get(name, Overview(name)) for name in names]

    def _overview(self, name: str) -> Overview:
        known = self._overviews.get(name, Overview(name))
        try:
            if name not in self._followed and known.position and not self._has_grown(known):
                return known
            trace = self.trace(name)
            if known.position == trace.history.position and not trace.history.running:
                return known
            return _overview(trace, brief_state(trace.history, self.workers(trace)))
        except ShoestringError as error:
            return Overview(name, problem=str(error))

    def _has_grown(self, known: Overview) -> bool:
        number = self.log.find(known.name)
        return number is None or bool(self.log.read(number, known.position))

    def checkpoint(self, trace: Trace) -> Path | None:
        """The folder with the checkpoint of what a study recommends; None if there is none."""
        best = trace.best()
        if best is None or trace.history.trials[best.trial].foreign:
            return None
        return checkpoint_of(self.log.directory() / trace.name, trace.history.trials[best.trial], best.step)

    def picture(self, trace: Trace, kind: str, draw: Callable[[Trace], Picture]) -> Picture:
        """A picture of a study, drawn once for every position of its log."""
        key = (trace.name, kind, trace.history.position)
        if key not in self._pictures:
            self._pictures[key] = draw(trace)
            while len(self._pictures) > _KEPT_PICTURES:
                self._pictures.popitem(last=False)
        return self._pictures[key]


class ReaderThread:
    """A thread with a reader of its own, which does one thing after the other."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._reader = Reader(storage)
        self._thread = ThreadPoolExecutor(1, name)

    async def ask(self, answer: Callable[Concatenate[Reader, P], T], *given: P.args, **options: P.kwargs) -> T:
        """Call ``answer`` in the thread, and return its value."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: answer(self._reader, *given, **options))
