"""One process's access to a study: its log, its history, and the only ways to append to them.

Every change is decided on the current history, checked, and appended at exactly that position. If another process was
first, the new events are read and the change is decided again. Any thread may call a journal: ``lock`` is held while
its history is read for a decision or changed, and a caller that does several things in one go holds it for them.
"""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoestring.core.budget import SLACK, Budget
from shoestring.core.decisions import Done, Method, Wait
from shoestring.core.event_log import EventLog, HasAdvisoryLock, check_name, gc_paused
from shoestring.core.events import (
    Added,
    Adopted,
    Budgeted,
    Closed,
    Closing,
    Enqueued,
    Event,
    Granted,
    Noted,
    Released,
    Stopped,
)
from shoestring.core.grants import next_grant
from shoestring.core.heartbeats import Leases, start_heartbeat, stop_heartbeat
from shoestring.core.history import History, TrialRecord
from shoestring.core.locks import ThreadLock
from shoestring.core.study_clock import StudyClock
from shoestring.core.tentative import TentativeGrants
from shoestring.core.transitions import make_adopted, make_budgeted, make_closed, make_reported
from shoestring.core.workers import DETACHED, SIMULATED, new_worker, retire, ticks
from shoestring.errors import Conflict, CorruptLog, MethodError, ReadingError

_logger = logging.getLogger("shoestring")
# How often a trial whose process was lost is taken over without having come any further, unless the user says it.
RETRIES = 1
# These have the time of the event before them, whenever they come.
_UNTIMED = (Budgeted, Enqueued, Added, Noted)
# Seconds after a conflict during which decisions are made under the log's advisory lock.
_CONTENDED = 10.0


class Journal:
    def __init__(
        self,
        log: EventLog,
        study: int,
        name: str,
        method: Method | None,
        history: History | None = None,
        *,
        find_method: Callable[[Mapping[str, Any]], Method] | None = None,
        follow: bool = True,
    ) -> None:
        """``history`` is the fold of the log's first events, if the caller has it already.

        Without a ``method`` it is found from its stored description by ``find_method`` on first use. With ``follow``
        false the log is read once, to show the study at one moment.
        """
        self.lock = ThreadLock()
        self.log = log
        self.study = study
        self.name = check_name(name)
        self.method = method
        self.history = history or History()
        self._find_method = find_method
        self.worker = ""
        self._retries = RETRIES
        self._contended_until = -math.inf
        self._waited_at = -1
        self.asked: dict[int, int] = {}  # for each trial that was asked for here, how often it had changed hands then
        self.clock = StudyClock()
        self._leases = Leases(log, study)
        self._follow = True
        self._deciding = False
        self._runs = 0
        self.retire()
        with gc_paused():
            self.sync()
        self._follow = follow
        _ = self.history.opened  # a study without events is refused here

    def sync(self) -> bool:
        """Read what others appended; whether there was anything.

        Not while grants are decided: the history then has tentative grants, which no event of the log can follow.
        """
        with self.lock:
            return self._follow and not self._deciding and self._read_on()

    def _read_on(self) -> bool:
        looked = self.clock.ticks()
        events = self.log.read(self.study, self.history.position)
        for event in events:
            self.history.restore(event)
            if isinstance(event, Budgeted) and len(events) < self.history.position:  # not while it is opened
                budget = self.history.ledger.budget
                _logger.warning("the budget of the study %r is now %s, given by %s", self.name, budget, event.worker)
        self.clock.record_look(looked, not all(isinstance(event, _UNTIMED) for event in events))
        return bool(events)

    def _append(self, make: Callable[[], Event | None]) -> Event | None:
        """Append what ``make`` decides on the current history; None appends nothing."""
        return next(iter(self._append_all(lambda: [make()])), None)

    def _append_all(self, make: Callable[[], list[Event | None]]) -> list[Event]:
        """Do the same for several events, each decided without regard to the others."""
        while True:
            with self.lock, self._advisory_lock():
                events = [event for event in make() if event is not None]
                for event in events:
                    self.history.check(event)
                if not events or self._try_append(events, self.history.position):
                    for event in events:
                        self.history.absorb(event)
                    return events
            self.sync()

    def _try_append(self, events: Sequence[Event], position: int) -> bool:
        """Append checked events, which the caller applies; False if another process was first."""
        try:
            self.log.append(self.study, events, position)
        except Conflict:
            self._contended_until = ticks() + _CONTENDED
            return False
        if not isinstance(events[0], _UNTIMED):
            self.clock.record_append()
        return True

    @contextmanager
    def _advisory_lock(self) -> Iterator[None]:
        """Hold the log's advisory lock if there was a conflict lately, so that fewer decisions are lost."""
        if isinstance(self.log, HasAdvisoryLock) and ticks() < self._contended_until:
            with self.log.advisory_lock(self.study):
                self.sync()
                yield
        else:
            yield

    def _stamp(self) -> tuple[float, float]:
        return self.clock.stamp(self.history)

    def seconds_left(self) -> float:
        """The seconds until the deadline of the budget."""
        return self.clock.seconds_left(self.history)

    def is_overdue(self) -> bool:
        """Tell whether the deadline has passed, so that running trials must be stopped."""
        return self.seconds_left() < -SLACK["seconds"]

    def grant(self) -> Granted | Wait | Done:
        """Append the method's next grant, or say why there is none."""
        answer = self.grants(1)
        return answer[0] if isinstance(answer, list) else answer

    def grants(self, most: int) -> list[Granted] | Wait | Done:
        """Append the method's next grants, at most ``most``, or say why there is none.

        Each is decided on those before it, and they are appended together.
        """
        with self.lock:
            if self._waited_at == self.history.position and not self.sync():
                answer = self.peek()  # as before: nothing has happened, which needs no advisory lock
                if not isinstance(answer, Granted):
                    return answer
            while True:
                with self._advisory_lock():
                    decided = self._decide(most)
                if isinstance(decided, list):
                    return decided
                if not self.sync() and decided is not None:
                    self._waited_at = self.history.position
                    return decided

    def _decide(self, most: int) -> list[Granted] | Wait | Done | None:
        """Decide on grants and append them, or say why there is none; None if another process appended first."""
        batch, position = list[Granted](), self.history.position
        self._deciding = True
        try:
            with TentativeGrants(self.history, self.clock) as tentative:
                while isinstance(answer := self.peek(), Granted):
                    batch.append(answer)
                    if len(batch) == most:
                        break
                    tentative.add(answer)
                if not batch and not isinstance(answer, Granted):
                    return answer
                self._keep_alive()
                if not self._try_append(batch, position):
                    return None
                if len(batch) == most:
                    tentative.add(batch[-1])
                tentative.keep()
                return batch
        finally:
            self._deciding = False

    def peek(self) -> Granted | Wait | Done:
        """Return the grant that the method would give now."""
        with self.lock:
            return self._peek(self.current_method())

    def _peek(self, method: Method) -> Granted | Wait | Done:
        if self.is_overdue():
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
            if self._find_method is None:
                raise MethodError("the journal has no method: give one")
            self.method = self._find_method(self.history.opened.method)
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
            overdue = self.is_overdue()
            return make_reported(self.history, trial, step, given, overdue, *self._stamp())

        self._append(make)

    def close(self, index: int, how: Closing, message: str = "", steps: int = 0) -> None:
        """End a trial for good; ``steps`` is what it used since its last reading."""
        self._append(lambda: self._closing_event(self.running_trial(index), how, message, steps))

    def close_own(self, index: int, how: Closing, message: str = "", steps: int = 0) -> None:
        """End a trial that this worker runs; nothing happens if it was taken over by another one."""
        self._append(
            lambda: self._closing_event(self.history.running[index], how, message, steps) if self.runs(index) else None
        )

    def _closing_event(self, trial: TrialRecord, how: Closing, message: str, steps: int) -> Closed:
        return make_closed(self.history, trial, how, message, steps, *self._stamp())

    def running_trial(self, index: int, else_: str = "it has no grant to report on; ask for one first") -> TrialRecord:
        trial = self.history.running.get(index)
        if trial is None:
            state = self.history.trials[index].state if 0 <= index < len(self.history.trials) else "unknown"
            raise ReadingError(f"trial {index} is {state}: {else_}")
        return trial

    def runs(self, index: int) -> bool:
        """Return whether this worker runs a trial, as far as is known here."""
        trial = self.history.running.get(index)
        return trial is not None and trial.worker == self.worker

    def was_taken_over(self, index: int) -> bool:
        """Tell whether a trial that was asked for here was taken over by another worker since."""
        return self.asked.get(index, self.history.trials[index].holders) != self.history.trials[index].holders

    def trials_of_gone_workers(self) -> Iterator[TrialRecord]:
        """List the running trials whose worker has died, in log order."""
        for trial in list(self.history.running.values()):
            if trial.worker != self.worker and self._leases.is_gone(trial.worker):
                yield trial

    def adopt(self, index: int, start: int) -> bool:
        """Run a trial here from ``start``: of a dead worker, or an own one that has to repeat steps.

        If its process was lost too often at the same step, or the budget cannot pay for the steps to run again, the
        trial is lost. If another process took the trial over first, nothing happens.
        """
        holders = self.history.trials[index].holders

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or trial.holders != holders:
                return None
            if trial.worker != self.worker and not self._leases.is_gone(trial.worker):
                return None
            idle = self._idle()
            at, drift = self.clock.read(self.history) if idle else self._stamp()
            return make_adopted(self.history, trial, self.worker, start, self._retries, at, drift, idle)

        self._keep_alive()
        return isinstance(self._append(make), Adopted)

    def _idle(self) -> float:
        """Return how long no trial has been running."""
        workers = {trial.worker for trial in self.history.running.values()}
        if any(worker == self.worker or not self._leases.is_gone(worker) for worker in workers):
            return 0.0
        return self.clock.read(self.history)[0] - self.history.now

    def retry(self, index: int, start: int, message: str, steps: int) -> bool:
        """Run an own trial again after an attempt that failed; False if it was taken over or cannot be paid."""

        def make() -> Event | None:
            trial = self.history.running.get(index)
            if trial is None or trial.worker != self.worker:
                return None
            if not self.history.ledger.allows("steps", trial.step - start + steps):
                return None
            at, drift = self._stamp()
            return Adopted(at, index, self.worker, start, 0.0, trial.attempts + 1, message, steps, drift)

        return self._append(make) is not None

    def release(self, index: int, message: str) -> None:
        """Free a running trial of any worker: any process may take it over at once, and it does not count as lost."""

        def make() -> Event:
            self.running_trial(index, "only a trial that is running can be released")
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
        self._append(lambda: make_budgeted(self.history, budget, self.worker))

    def put(self, *makes: Callable[[History], Event | None]) -> None:
        """Append what is made of the history, with all that other processes added; None appends nothing.

        Several events are appended together, and each is made as if the others were not.
        """
        self.sync()
        self._append_all(lambda: [make(self.history) for make in makes])

    def files(self) -> Path:
        """Return where the files of this study's trials belong."""
        return self.log.directory() / self.name

    def retire(self) -> None:
        """Give up what this process has running: other workers may take it over."""
        _retire(self.worker)
        self.worker = new_worker()
        self._alive = False
        weakref.finalize(self, _retire, self.worker)

    @contextmanager
    def running(self, retries: int, virtual_time: Callable[[], float] | None = None) -> Iterator[None]:
        """Run trials in this block, and give up at its end what is still running.

        A lost trial is taken over ``retries`` times. With ``virtual_time`` the trials are simulated, and stamped with
        that time.
        """
        with self.lock:
            before = self.clock, self._retries
            self._runs, self._retries = self._runs + 1, retries
            if virtual_time is not None:
                self.worker, self.clock = SIMULATED, StudyClock(virtual_time, virtual_time)
        try:
            yield
        finally:
            with self.lock:
                self._runs -= 1
                self.clock, self._retries = before
                if not self._runs:  # no other thread runs this study
                    self.retire()

    def hold_detached(self) -> None:
        """From now on hold trials under a name that is not a process, so that they outlive this one."""
        self.worker, self._alive = DETACHED, True

    def _keep_alive(self) -> None:
        """Send heartbeats, from before the first trial is run."""
        with self.lock:
            if not self._alive:
                start_heartbeat(self.log, self.study, self.worker)
                self._alive = True


def _retire(worker: str) -> None:
    retire(worker)
    stop_heartbeat(worker)
