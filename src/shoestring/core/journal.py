"""One process's access to a study: its log, its history, and the only ways to append to them.

Every change is decided on the current history, checked, and appended at exactly that position. If another process was
first, the new events are read and the change is decided again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from shoestring.core.budget import Budget
from shoestring.core.decisions import Done, Method, Wait
from shoestring.core.event_log import EventLog
from shoestring.core.events import Adopted, Budgeted, Closed, Closing, Event, Granted, Reported
from shoestring.core.grants import next_grant
from shoestring.core.history import History, TrialRecord
from shoestring.core.readings import Reading, checked_reading
from shoestring.core.workers import is_alive, new_worker, now, retire
from shoestring.errors import BudgetError, Conflict, CorruptLog, MethodError, ReadingError


class Journal:
    def __init__(
        self, log: EventLog, study: int, name: str, method: Method | None, history: History | None = None
    ) -> None:
        """``history`` is the fold of the log's first events, if the caller has it already."""
        self.log = log
        self.study = study
        self.name = name
        self.method = method
        self.history = history or History()
        # How the method is found if it was not given: by the study, which knows the classes that are registered.
        self.find_method: Callable[[], Method] | None = None
        self.worker = ""
        self.clock: Callable[[], float] = now
        self.retire()
        self.sync()

    def sync(self) -> bool:
        """Read what others appended; whether there was anything."""
        events = self.log.read(self.study, self.history.position)
        for event in events:
            try:
                self.history.apply(event)
            except (TypeError, AttributeError, KeyError, ValueError) as error:
                position = self.history.position
                raise CorruptLog(f"event {position} ({event.kind}) of the log is malformed: {error}") from error
        return bool(events)

    def _append(self, make: Callable[[], Event | None]) -> Event | None:
        """Append what ``make`` decides on the current history; None appends nothing."""
        while True:
            event = make()
            if event is None:
                return None
            self.history.check(event)
            try:
                self.log.append(self.study, [event], self.history.position)
            except Conflict:
                self.sync()
                continue
            self.history.absorb(event)
            return event

    def _stamp(self) -> float:
        """The time of the next event: never before the last one, never after the deadline."""
        at, deadline = max(self.clock(), self.history.now), self.deadline()
        return at if deadline is None else min(at, deadline)

    def deadline(self) -> float | None:
        """When the budget's seconds end if something keeps running; None without such a limit."""
        if self.history.ledger.budget.seconds is None or not self.history.running:
            return None
        return self.history.now + max(self.history.ledger.free("seconds"), 0.0)

    def _overdue(self) -> bool:
        deadline = self.deadline()
        return deadline is not None and self.clock() > deadline + 1e-6

    def grant(self) -> Granted | Wait | Done:
        """Append the method's next grant, or say why there is none."""
        while True:
            answer = self.peek()
            if isinstance(answer, Granted):
                try:
                    self.log.append(self.study, [answer], self.history.position)
                except Conflict:
                    self.sync()
                    continue
                self.history.absorb(answer)
                return answer
            if not self.sync():
                return answer

    def peek(self) -> Granted | Wait | Done:
        """What the method would grant now."""
        method = self.current_method()
        if self._overdue():
            return Wait("the time budget is used up; running trials must be stopped first")
        answer = next_grant(method, self.history, self.worker, self._stamp())
        if isinstance(answer, Granted):
            try:
                self.history.check(answer)
            except CorruptLog as error:
                raise MethodError(f"{method!r} made an impossible decision: {error}") from error
        return answer

    def current_method(self) -> Method:
        if self.method is None:
            if self.find_method is None:
                raise MethodError("the journal has no method: give one")
            self.method = self.find_method()
        return self.method

    def report(self, index: int, step: int, given: object) -> None:
        """Append a reading, or the end of the trial if the reading cannot be used."""

        def make() -> Event:
            trial = self.running(index)
            used = step - trial.step
            if self._overdue():
                return self._closed(trial, "stopped", "the budget's time ended during this step", used)
            try:
                reading = checked_reading(given)
            except ReadingError as error:
                return self._closed(trial, "failed", str(error), used, _cost_of(given))
            if reading.cost is None and self.history.ledger.budget.limited == ("cost",):
                message = "the budget is a cost and the reading has none: give Reading(value, cost=...)"
                return self._closed(trial, "failed", message, used)
            if reading.cost and reading.cost > (afforded := self.history.affordable_cost(trial, step)) + 1e-9:
                message = (
                    f"the reading {reading.value:g} was dropped: it cost {reading.cost:g} and {afforded:g} was left"
                )
                return self._closed(trial, "stopped", message, used, afforded)
            return Reported(
                self._stamp(),
                index,
                step,
                reading.value,
                reading.low,
                reading.high,
                reading.cost,
                reading.metrics or None,
            )

        self._append(make)

    def close(self, index: int, how: Closing, message: str = "", steps: int = 0) -> None:
        """End a trial for good; ``steps`` is what it used since its last reading."""
        self._append(lambda: self._closed(self.running(index), how, message, steps))

    def _closed(self, trial: TrialRecord, how: Closing, message: str, steps: int, cost: float = 0.0) -> Closed:
        steps = min(steps, trial.until - trial.step)
        cost = min(cost, max(trial.reserved + self.history.ledger.free("cost"), 0.0))
        return Closed(self._stamp(), trial.index, how, message, steps, cost)

    def running(self, index: int) -> TrialRecord:
        trial = self.history.running.get(index)
        if trial is None:
            state = self.history.trials[index].state if 0 <= index < len(self.history.trials) else "unknown"
            raise ReadingError(f"trial {index} is {state}: it has no grant to report on; ask for one first")
        return trial

    def orphans(self) -> Iterator[TrialRecord]:
        """Running trials whose worker is gone, in log order."""
        for trial in list(self.history.running.values()):
            if trial.worker != self.worker and not is_alive(trial.worker):
                yield trial

    def adopt(self, index: int, start: int) -> bool:
        """Take over a trial from ``start``; if the steps to run again do not fit, it is lost."""

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or (trial.worker != self.worker and is_alive(trial.worker)):
                return None
            payable = trial.step - start <= self.history.ledger.free("steps")
            someone_ran = any(is_alive(t.worker) for t in self.history.running.values())
            at = max(self.clock(), self.history.now)
            idle = 0.0 if someone_ran else at - self.history.now
            stamp = at if idle else self._stamp()
            return Adopted(stamp, index, self.worker, start if payable else trial.step, idle)

        adopted = self._append(make)
        if not isinstance(adopted, Adopted):
            return False
        if adopted.start > start:
            again = adopted.start - start
            self.close(index, "lost", f"it would have to run {again} steps again, which the budget cannot pay")
            return False
        return True

    def change_budget(self, budget: Budget) -> None:
        """Replace the budget; it cannot be less than what is already spent or committed."""

        def make() -> Event:
            wanted = replace(self.history.ledger, budget=budget)
            unit = wanted.broken()
            if unit:
                used = getattr(budget, unit) - wanted.free(unit)
                raise BudgetError(
                    f"the study has already spent or committed {used:g} {unit}, so its budget cannot become {budget}; "
                    "give more, or look at it with Study.load"
                )
            return Budgeted(self.history.now, budget.limits())

        self._append(make)

    def files(self) -> Path:
        """Where the files of this study's trials belong."""
        return self.log.directory() / self.name

    def retire(self) -> None:
        """Give up what this process has running: other workers may take it over."""
        retire(self.worker)
        self.worker = new_worker()
        weakref.finalize(self, retire, self.worker)


def _cost_of(given: object) -> float:
    """The cost of a reading whose value cannot be used, if it has one."""
    if not isinstance(given, Reading) or given.cost is None:
        return 0.0
    try:
        return checked_reading(Reading(0.0, cost=given.cost)).cost or 0.0
    except ReadingError:
        return 0.0
