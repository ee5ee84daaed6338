"""One process's access to a study: its log, its history, and the only ways to append to them.

Every change is decided on the current history, checked, and appended at exactly that position. If another process was
first, the new events are read and the change is decided again.
"""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shoestring.core.budget import Budget
from shoestring.core.decisions import Done, Method, Wait
from shoestring.core.event_log import EventLog, TurnLog, checked_name, uncollected
from shoestring.core.events import (
    Added,
    Adopted,
    Budgeted,
    Closed,
    Closing,
    Enqueued,
    Event,
    Granted,
    Released,
    Reported,
    Stopped,
)
from shoestring.core.grants import next_grant
from shoestring.core.history import History, TrialRecord
from shoestring.core.leases import Leases, hold, let_go
from shoestring.core.readings import Reading, checked_reading
from shoestring.core.study_clock import StudyClock
from shoestring.core.supposition import Supposition
from shoestring.core.workers import BY_HAND, new_worker, retire, ticks
from shoestring.errors import BudgetError, Conflict, CorruptLog, MethodError, ReadingError

_logger = logging.getLogger("shoestring")
# How often a trial whose process was lost is taken over without having come any further, unless the user says it.
RETRIES = 1
# These have the time of the event before them, whenever they come.
_UNTIMED = (Budgeted, Enqueued, Added)
# After a conflict, take turns with the other processes for so many seconds.
_CROWDED = 10.0


class Journal:
    def __init__(
        self, log: EventLog, study: int, name: str, method: Method | None, history: History | None = None
    ) -> None:
        """``history`` is the fold of the log's first events, if the caller has it already."""
        self.log = log
        self.study = study
        self.name = checked_name(name)
        self.method = method
        self.history = history or History()
        # How the method is found if it was not given: by the study, which knows the classes that are registered.
        self.find_method: Callable[[], Method] | None = None
        self.worker = ""
        self.still = False  # whether the history stays as it is, for somebody who shows it
        self.retries = RETRIES
        self._crowded_until = -math.inf
        self._waited_at = -1
        self.asked: dict[int, int] = {}  # for each trial that was asked for here, how often it had changed hands then
        self.clock = StudyClock()
        self.leases = Leases(log, study)
        self.retire()
        with uncollected():
            self.sync()
        _ = self.history.opened  # a study without events is refused here

    def sync(self) -> bool:
        """Read what others appended; whether there was anything."""
        if self.still:
            return False
        looked = self.clock.ticks()
        events = self.log.read(self.study, self.history.position)
        for event in events:
            self.history.restore(event)
            if isinstance(event, Budgeted) and len(events) < self.history.position:  # not while it is opened
                budget = self.history.ledger.budget
                _logger.warning("the budget of the study %r is now %s, given by %s", self.name, budget, event.worker)
        self.clock.looked(looked, not all(isinstance(event, _UNTIMED) for event in events))
        return bool(events)

    def _append(self, make: Callable[[], Event | None]) -> Event | None:
        """Append what ``make`` decides on the current history; None appends nothing."""
        return next(iter(self._append_all(lambda: [make()])), None)

    def _append_all(self, make: Callable[[], list[Event | None]]) -> list[Event]:
        """The same for several events, each of which is decided as if the others were not."""
        while True:
            with self._turn():
                events = [event for event in make() if event is not None]
                for event in events:
                    self.history.check(event)
                if not events or self._appended(events, self.history.position):
                    for event in events:
                        self.history.absorb(event)
                    return events
            self.sync()

    def _appended(self, events: Sequence[Event], position: int) -> bool:
        """Append checked events, which the caller applies; False if another process was first."""
        try:
            self.log.append(self.study, events, position)
        except Conflict:
            self._crowded_until = ticks() + _CROWDED
            return False
        if not isinstance(events[0], _UNTIMED):
            self.clock.appended()
        return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take turns with other processes if there was a conflict lately, so that no decision is made in vain."""
        if isinstance(self.log, TurnLog) and ticks() < self._crowded_until:
            with self.log.turn(self.study):
                self.sync()
                yield
        else:
            yield

    def _stamp(self) -> tuple[float, float]:
        """The time of the next event, never after the deadline, and how far the time of day is ahead of it."""
        at, drift = self.clock.read(self.history)
        deadline = self.deadline()
        return (at, drift) if deadline is None or at <= deadline else (deadline, drift + at - deadline)

    def deadline(self) -> float | None:
        """The study's time when the budget's seconds end if something keeps running; None without such a limit."""
        if self.history.ledger.budget.seconds is None or not self.history.running:
            return None
        return self.history.now + max(self.history.ledger.free("seconds"), 0.0)

    def seconds_left(self) -> float:
        """How long it is until the deadline."""
        deadline = self.deadline()
        return math.inf if deadline is None else deadline - self.clock.read(self.history)[0]

    def grant(self) -> Granted | Wait | Done:
        """Append the method's next grant, or say why there is none."""
        answer = self.grants(1)
        return answer[0] if isinstance(answer, list) else answer

    def grants(self, most: int) -> list[Granted] | Wait | Done:
        """Append the method's next grants, at most so many, or say why there is none.

        Each is decided on those before it, and they are appended together.
        """
        if self._waited_at == self.history.position and not self.sync():
            answer = self.peek()  # as before: nothing has happened, and nobody need take turns for that
            if not isinstance(answer, Granted):
                return answer
        while True:
            batch = list[Granted]()
            with self._turn(), Supposition(self.history, self.clock) as supposed:
                position = self.history.position
                while isinstance(answer := self.peek(), Granted):
                    batch.append(answer)
                    if len(batch) == most:
                        break
                    supposed.add(answer)
                if batch:
                    self._keep_alive()
                    if self._appended(batch, position):
                        if len(batch) == most:
                            supposed.add(batch[-1])
                        supposed.keep()
                        return batch
            if not self.sync() and not batch and not isinstance(answer, Granted):
                self._waited_at = self.history.position
                return answer

    def peek(self) -> Granted | Wait | Done:
        """What the method would grant now."""
        method = self.current_method()
        if self.seconds_left() < -1e-6:
            return Wait("the time budget is used up; running trials must be stopped first")
        answer = next_grant(method, self.history, self.worker, *self._stamp())
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
        """Append a reading, or the end of the trial if the reading cannot be used.

        A report that comes late, after the trial was taken over, is kept if it is new and ignored if it is known.
        """

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or step <= trial.step:
                _logger.info("the reading of step %d of trial %d came too late and is ignored", step, index)
                return None
            used = step - trial.step
            if self.seconds_left() < -1e-6:
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
            at, drift = self._stamp()
            return Reported(
                at, index, step, reading.value, reading.low, reading.high, reading.cost, reading.metrics or None, drift
            )

        self._append(make)

    def close(self, index: int, how: Closing, message: str = "", steps: int = 0) -> None:
        """End a trial for good; ``steps`` is what it used since its last reading."""
        self._append(lambda: self._closed(self.running(index), how, message, steps))

    def close_own(self, index: int, how: Closing, message: str = "", steps: int = 0) -> None:
        """End a trial that this worker runs; nothing happens if it was taken over by another one."""
        self._append(
            lambda: self._closed(self.history.running[index], how, message, steps) if self.runs(index) else None
        )

    def _closed(
        self, trial: TrialRecord, how: Closing, message: str, steps: int, cost: float = 0.0, idle: float = 0.0
    ) -> Closed:
        steps = min(steps, trial.until - trial.step)
        cost = min(cost, max(trial.reserved + self.history.ledger.free("cost"), 0.0))
        at, drift = self.clock.read(self.history) if idle else self._stamp()
        return Closed(at, trial.index, how, message, steps, cost, idle, drift)

    def running(self, index: int, else_: str = "it has no grant to report on; ask for one first") -> TrialRecord:
        trial = self.history.running.get(index)
        if trial is None:
            state = self.history.trials[index].state if 0 <= index < len(self.history.trials) else "unknown"
            raise ReadingError(f"trial {index} is {state}: {else_}")
        return trial

    def runs(self, index: int) -> bool:
        """Whether this worker runs a trial, as far as is known here."""
        trial = self.history.running.get(index)
        return trial is not None and trial.worker == self.worker

    def was_taken(self, index: int) -> bool:
        """Whether a trial that was asked for here was taken over by another worker since."""
        return self.asked.get(index, self.history.trials[index].holders) != self.history.trials[index].holders

    def orphans(self) -> Iterator[TrialRecord]:
        """Running trials whose worker is gone, in log order."""
        for trial in list(self.history.running.values()):
            if trial.worker != self.worker and self.leases.expired(trial.worker):
                yield trial

    def adopt(self, index: int, start: int) -> bool:
        """Run a trial here from ``start``: one whose worker is gone, or an own one that has to repeat steps.

        If its process was lost too often at the same step, or the budget cannot pay for the steps to run again, the
        trial is lost.
        """

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or (trial.worker != self.worker and not self.leases.expired(trial.worker)):
                return None
            lost, again = trial.worker not in (self.worker, ""), trial.step - start
            idle = self._idle()
            if lost and trial.attempts >= self.retries:
                times = "once" if trial.attempts == 0 else f"{trial.attempts + 1} times"
                message = f"the process that ran it was lost {times} at step {trial.step + 1}"
                return self._closed(trial, "lost", message, 1, idle=idle)
            if again > self.history.ledger.free("steps"):
                message = f"it would have to run {again} steps again, which the budget cannot pay"
                return self._closed(trial, "lost", message, 0, idle=idle)
            at, drift = self.clock.read(self.history) if idle else self._stamp()
            message = f"the process of {trial.worker} is gone" if lost else ""
            return Adopted(at, index, self.worker, start, idle, trial.attempts + lost, message, 0, drift)

        self._keep_alive()
        return isinstance(self._append(make), Adopted)

    def _idle(self) -> float:
        """How long no trial has been running."""
        workers = {trial.worker for trial in self.history.running.values()}
        if any(worker == self.worker or not self.leases.expired(worker) for worker in workers):
            return 0.0
        return self.clock.read(self.history)[0] - self.history.now

    def retry(self, index: int, start: int, message: str, steps: int) -> bool:
        """Run an own trial again after an attempt that failed; False if it was taken over or cannot be paid."""

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or trial.worker != self.worker:
                return None
            if trial.step - start + steps > self.history.ledger.free("steps"):
                return None
            at, drift = self._stamp()
            return Adopted(at, index, self.worker, start, 0.0, trial.attempts + 1, message, steps, drift)

        return self._append(make) is not None

    def release(self, index: int, message: str) -> None:
        """Free a running trial, whoever holds it: any process may take it over at once, and it counts as no loss."""

        def make() -> Event:
            self.running(index, "only a trial that is running can be released")
            at, drift = self._stamp()
            return Released(at, index, message, drift)

        self._append(make)

    def stop(self, reason: str) -> None:
        """Stop the study for everybody, or with an empty reason let it go on."""

        def make() -> Event | None:
            at, drift = self._stamp()
            return Stopped(at, reason, drift) if bool(self.history.stopped) != bool(reason) else None

        self._append(make)

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
            return Budgeted(self.history.now, budget.limits(), self.worker, self.history.drift)

        self._append(make)

    def put(self, *makes: Callable[[History], Event | None]) -> None:
        """Append what is made of the history, with all that other processes added; None appends nothing.

        Several events are appended together, and each is made as if the others were not.
        """
        self.sync()
        self._append_all(lambda: [make(self.history) for make in makes])

    def files(self) -> Path:
        """Where the files of this study's trials belong."""
        return self.log.directory() / self.name

    def retire(self) -> None:
        """Give up what this process has running: other workers may take it over."""
        _retire(self.worker)
        self.worker = new_worker()
        self._alive = False
        weakref.finalize(self, _retire, self.worker)

    def hold_by_hand(self) -> None:
        """From now on hold trials under a name that is no process, so that they outlive this one."""
        self.worker, self._alive = BY_HAND, True

    def _keep_alive(self) -> None:
        """Give signs of life from before the first trial is run on."""
        if not self._alive:
            hold(self.log, self.study, self.worker)
            self._alive = True


def _retire(worker: str) -> None:
    retire(worker)
    let_go(worker)


def _cost_of(given: object) -> float:
    """The cost of a reading whose value cannot be used, if it has one."""
    if not isinstance(given, Reading) or given.cost is None:
        return 0.0
    try:
        return checked_reading(Reading(0.0, cost=given.cost)).cost or 0.0
    except ReadingError:
        return 0.0
