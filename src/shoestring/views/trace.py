"""The log of a study in the form that plots, the report and the dashboard read.

A trace folds the events once and keeps what a history alone forgets: the amount spent after each event, and its use. It
can be continued with new events, so that a page of a running study does not read the log again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from shoestring._arrays import Array
from shoestring.core.budget import UNITS
from shoestring.core.events import Added, Event, Granted, Reported
from shoestring.core.history import FAILED, History
from shoestring.core.recommendation import Best
from shoestring.errors import MethodError
from shoestring.views.formatting import cut
from shoestring.views.states import recommendation, states
from shoestring.views.trends import leading_unit


@runtime_checkable
class HasEvents(Protocol):
    """A study, as far as plots are concerned."""

    @property
    def name(self) -> str: ...

    def events(self) -> list[Event]: ...


@dataclass(slots=True)
class Span:
    """One stretch of a trial on one worker: from a grant or a takeover until it paused or ended.

    ``position`` is the position of its first event in the log. ``goal`` is the step that it was meant to reach and
    ``step`` the one that it did reach. ``how`` is the state of the trial at the end. ``charged`` is what the budget
    paid for it, in the order of ``UNITS``; seconds during which several trials ran are divided between them.
    """

    worker: str
    trial: int
    arm: int
    start: int
    goal: int
    reason: str
    position: int
    begin: float
    end: float
    step: int
    how: str = "running"
    charged: list[float] = field(default_factory=lambda: [0.0] * len(UNITS))


class Trace:
    """``balances`` has a row (time, spent in the order of ``UNITS``) after each event, ``reported`` the positions of
    the readings of ``history.readings``, ``spans`` who ran what, in the order of the grants, and ``touched`` the
    position of the last event of each trial.
    """

    def __init__(
        self, name: str = "", events: Iterable[Event] = (), again: Callable[[], list[Event]] | None = None
    ) -> None:
        self.name, self._again = name, again
        self._events: list[Event] = []
        self.history = History()
        self.balances: list[tuple[float, ...]] = []
        self.reported: list[int] = []
        self.spans: list[Span] = []
        self.touched: list[int] = []
        self._open: dict[int, tuple[Span, float]] = {}
        self._seconds = 0.0  # per running trial, since the start
        self.extend(events)

    def extend(self, events: Iterable[Event]) -> Trace:
        """Take in the next events of the log."""
        for event in events:
            self._take(event)
            if self._again is None:
                self._events.append(event)
        return self

    def events(self) -> list[Event]:
        """The events so far, read ``again`` from where they came from: a trace of a long log does not keep them."""
        return self._events if self._again is None else self._again()[: self.history.position]

    def _take(self, event: Event) -> None:
        history, index = self.history, getattr(event, "trial", None)
        running, before = len(history.running), self.balances[-1] if self.balances else (0.0,) * 5
        history.restore(event)
        ledger = history.ledger
        after = (event.at, ledger.steps, ledger.evaluations, ledger.seconds, ledger.cost)
        self.balances.append(after)
        if running:
            self._seconds += (after[3] - before[3]) / running
        readings = len(event.readings) if isinstance(event, Added) else int(isinstance(event, Reported))
        self.reported += [history.position - 1] * readings
        self.touched += [history.position - 1] * (len(history.trials) - len(self.touched))
        if index is not None:
            self.touched[index] = history.position - 1
            self._follow(event, index, before, after)

    def _follow(self, event: Event, index: int, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        """Charge the trial's span, end it if the trial left its worker, and open one if it has a new one."""
        trial = self.history.trials[index]
        span, since = self._open.get(index, (None, 0.0))
        if span is not None and not isinstance(event, Granted):
            self._charge(span, before, after)
            span.end, span.step = event.at, trial.step
            if trial.index not in self.history.running or trial.worker != span.worker:
                span.charged[2] += self._seconds - since
                span.how = trial.state
                del self._open[index]
        if trial.index in self.history.running and index not in self._open:
            reason = event.reason if isinstance(event, Granted) else "taken over from another worker"
            at, step = event.at, trial.step
            place = self.history.position - 1
            span = Span(trial.worker, index, trial.arm, step, trial.goal, reason, place, at, at, step)
            if isinstance(event, Granted):
                self._charge(span, before, after)
            self._open[index] = span, self._seconds
            self.spans.append(span)

    @staticmethod
    def _charge(span: Span, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        for unit in (0, 1, 3):
            span.charged[unit] += after[unit + 1] - before[unit + 1]

    def seconds(self, span: Span) -> float:
        """Compute the time that a span has used, even if it goes on."""
        running, since = self._open.get(span.trial, (None, 0.0))
        return span.charged[2] + (self._seconds - since if running is span else 0.0)

    def charge_of(self, span: Span, unit: str) -> float:
        return self.seconds(span) if unit == "seconds" else span.charged[UNITS.index(unit)]

    def amounts_spent(self, unit: str) -> Array:
        """Return the amount spent of a unit after each event."""
        return np.array([row[UNITS.index(unit) + 1] for row in self.balances])

    def times(self) -> Array:
        """Seconds since the first grant, at each event."""
        at = np.array([row[0] for row in self.balances])
        first = next((span.begin for span in self.spans), at[-1] if len(at) else 0.0)
        return np.maximum(at - first, 0.0)

    @property
    def unit(self) -> str:
        """Find the unit of the budget with the largest share spent."""
        return leading_unit(self.history)

    @property
    def readings(self) -> list[tuple[int, int, float]]:
        """Trial, step and value of all readings in log order, in the user's sign."""
        return [(trial.index, step, self.history.sign * loss) for trial, step, loss in self.history.readings]

    def best(self) -> Best | None:
        """Return the recommendation of the study."""
        return recommendation(self.history)

    def why_empty(self) -> str:
        """Return why there is nothing to draw, in a sentence; empty if there is a reading."""
        trials = self.history.trials
        if self.reported:
            return ""
        if not trials:
            return "There is nothing to draw yet: no trial has started."
        failed = [trial for trial in trials if trial.state in FAILED]
        if len(failed) == len(trials):
            some = "the only trial" if len(trials) == 1 else f"all {len(trials)} trials"
            return f"There is no reading: {some} failed. The first said: {cut(failed[0].message)}"
        return f"There is no reading yet: {states(self.history)}."

    def why_no_runs(self) -> str:
        """Return why there is nothing to draw of the budget and the workers; empty if something was run."""
        return "" if self.spans else self.why_empty() or "Nothing was run yet: all results come from elsewhere."


Source = Trace | HasEvents | Iterable[Event]


def trace_of(source: Source) -> Trace:
    """The trace of a study, of its events, or itself."""
    if isinstance(source, Trace):
        return source
    if isinstance(source, HasEvents):
        return Trace(source.name, source.events(), source.events)
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise MethodError(f"{source!r} is not a study; give an ss.Study, such as ss.Study.load('study.db', 'name')")
    return Trace("", source)
