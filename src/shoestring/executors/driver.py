"""The loop between a study and an executor: grant, submit, collect, log.

The loop has no state that matters: what is running is in the log, so after a crash the trials that the log says are
running are submitted again.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from shoestring.core.decisions import Done
from shoestring.core.events import Closing
from shoestring.core.history import FAILED, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.study_clock import StudyClock
from shoestring.errors import EverythingFailed, ShoestringError, StorageError
from shoestring.executors.base import Executor, Job, Objective, Report, Session, check_objective
from shoestring.executors.callbacks import Callbacks
from shoestring.executors.checkpoints import files_of
from shoestring.executors.inline import Inline
from shoestring.executors.keeping import DEFAULT_KEEP, Keeper
from shoestring.executors.limits import Limits

_logger = logging.getLogger("shoestring")

# An objective that fails this often before its first success is broken; the study can be resumed.
_MOST_FAILURES = 20
# Seconds between two reads of what other processes did: while this one has nothing to run, while it has free slots,
# and while all are busy.
_POLL_IDLE = 0.05
_POLL_FREE = 0.5
_POLL_BUSY = 2.0


def drive(
    journal: Journal,
    objective: Objective,
    executor: Executor,
    display: AbstractContextManager[None],
    limits: Limits = Limits(),  # noqa: B008
    keep: int | None = DEFAULT_KEEP,
    callbacks: Callbacks = Callbacks(),  # noqa: B008
) -> None:
    """Run the objective on an executor until the study has nothing more to grant; ``display`` shows the progress.

    ``keep`` is how many ended trials keep their files, and ``callbacks`` are told what happens.
    """
    check_objective(objective, journal.history.max_resource, journal.history.codec.space)
    journal.sync()
    reached = limits.reached(journal.history)
    if journal.history.stopped and not reached:
        journal.stop("")  # it was stopped before, and is run again
    elif reached and not isinstance(journal.peek(), Done):
        journal.stop(reached)  # by what is known already: nothing is spent on it
    if isinstance(journal.peek(), Done):
        return  # nothing to do: no reason to start workers
    session = executor.open(objective, journal.files())
    loop = Loop(journal, session, limits, keep, callbacks)
    clock = journal.clock
    if session.resubmits_running:
        journal.worker = "simulated"
        journal.clock = StudyClock(loop.virtual_time, loop.virtual_time)
    try:
        with display:
            loop.run()
    finally:
        loop.release_all()
        session.close()
        loop.keeper.clean_up(journal.worker)
        loop.release_all()  # on a full disk there may be room for it only now
        journal.clock = clock
        journal.retire()
        callbacks.study_end()


def default_executor(
    workers: int, gpus: Sequence[int | str] | None = None, devices: Sequence[Any] | None = None
) -> Executor:
    if workers == 1 and gpus is None and devices is None:
        return Inline()
    from shoestring.executors.processes import Processes  # multiprocessing is loaded only where it is needed

    return Processes(workers, gpus=gpus, devices=devices)


class Loop:
    def __init__(
        self, journal: Journal, session: Session, limits: Limits, keep: int | None, callbacks: Callbacks
    ) -> None:
        self.callbacks = callbacks
        self.journal = journal
        self.session = session
        self.limits = limits
        self.mine: set[int] = set()  # the trials that are running here
        self.had: dict[int, int] = {}  # for each trial that was run here, how often it had changed hands then
        self.took: dict[int, float] = {}  # how long the steps of each took
        self.files = journal.files()
        self.keeper = Keeper(self.files, journal.history, keep)
        self.failures = 0
        self.said_waiting = self.said_repeating = self.said_failing = False
        journal.retries = limits.retries_after("lost")

    def virtual_time(self) -> float:
        return max(self.session.now(), self.journal.history.now)

    def run(self) -> None:
        if self.session.resubmits_running:
            for trial in list(self.journal.history.running.values()):
                self.submit(trial, trial.step)
        while True:
            over = self.fill_slots()
            if over and not self.mine:
                return
            reports = self.session.collect(self.wait_until()) if self.mine else self.wait_for_others()
            for report in reports:
                self.record(report)
            if not reports:
                self.journal.sync()
            self.end_overdue()
            self.let_go_of_others()
            if (reason := self.limits.reached(self.journal.history)) and not self.journal.history.stopped:
                self.journal.stop(reason)
            if self.journal.history.stopped:
                self.stop_all(self.journal.history.stopped)
            elif self.journal.seconds_left() <= 0:
                self.stop_all("the budget's time ended")

    def fill_slots(self) -> bool:
        """Give work to every free slot; whether the study has nothing more to grant."""
        journal = self.journal
        while len(self.mine) < self.session.slots:
            others = len(journal.history.running) > len(self.mine)
            if others and not self.session.resubmits_running and self.take_over():
                continue
            answer = journal.grants(self.session.slots - len(self.mine))
            if not isinstance(answer, list):
                return isinstance(answer, Done)
            for granted in answer:
                self.start(journal.history.trials[granted.trial])
        return False

    def start(self, trial: TrialRecord) -> None:
        """Run what was granted, from where it can be continued here."""
        if trial.step and self.had.get(trial.index, trial.holders) != trial.holders:
            self.session.cancel(trial.index)  # what is held here is older than what another process did
        start = self.session.resume_from(trial.index, trial.step) if trial.step else 0
        if start < trial.step:
            self.say_repeating(trial, start)
        if start == trial.step or self.journal.adopt(trial.index, start):
            self.submit(trial, start)
        elif trial.state == "lost":
            self.say_lost(trial)

    def say_repeating(self, trial: TrialRecord, start: int) -> None:
        level = logging.INFO if self.said_repeating else logging.WARNING
        _logger.log(
            level,
            "trial %d continues after step %d instead of %d: this process does not hold it in memory, and it has no "
            "later checkpoint. The steps between are run again and charged; save checkpoints in trial.directory "
            "(trial.checkpoint.save), or, if the objective is a generator, let more trials stay in memory (alive= of "
            "the executor)",
            *(trial.index, start, trial.step),
        )
        self.said_repeating = True

    def take_over(self) -> bool:
        """Resume one trial whose worker is gone."""
        for trial in self.journal.orphans():
            self.session.cancel(trial.index)
            start = self.session.resume_from(trial.index, trial.step)
            if self.journal.adopt(trial.index, start):
                if start < trial.step:
                    self.say_repeating(trial, start)
                _logger.info("trial %d is taken over after step %d", trial.index, start)
                self.submit(trial, start)
                return True
            if trial.state == "lost":
                self.say_lost(trial)
        return False

    def say_lost(self, trial: TrialRecord) -> None:
        """A trial could not be taken up again, and has ended without being run here."""
        self.say_ended(trial)
        self.tidy_files(trial)
        self.callbacks.trial_end(trial)

    def submit(self, trial: TrialRecord, start: int) -> None:
        self.mine.add(trial.index)
        self.had[trial.index] = trial.holders
        self.took.setdefault(trial.index, trial.seconds)
        self.session.submit(
            Job(
                trial.index, trial.arm, trial.replicate, trial.config, trial.seed,
                start, trial.until, trial.step, trial.reported_at, trial.granted, trial.holders,
                self.journal.history.max_resource,
            )
        )  # fmt: skip

    def wait_until(self) -> float | None:
        """Until when to wait for a report: the next deadline, or sooner to see what other processes did."""
        session, now = self.session, self.session.now()
        if session.resubmits_running:
            deadline = self.journal.deadline()
            until = math.inf if deadline is None else deadline
        else:
            until = now + self.journal.seconds_left()
            if session.slots > 1:  # a session with one slot may not be able to wait without ending its step
                until = min(until, now + (_POLL_BUSY if len(self.mine) >= session.slots else _POLL_FREE))
        until = min([until, *(self.due(index) for index in self.mine)]) if self.limits.has_timeout else until
        return None if until == math.inf else until

    def due(self, index: int) -> float:
        """When a trial has taken too long, by the session's clock."""
        began = self.session.began(index)
        return (self.session.now() if began is None else began) + self.limits.seconds_for(self.took[index])

    def wait_for_others(self) -> list[Report]:
        if not self.said_waiting:
            running = "; ".join(f"trial {t.index} by {t.worker}" for t in self.journal.history.running.values())
            _logger.info("waiting for trials that other processes are running: %s", running)
        self.said_waiting = True
        time.sleep(_POLL_IDLE)
        return []

    def record(self, report: Report) -> None:
        if report.how == "storage":
            raise StorageError(report.message)
        trial = self.journal.history.trials[report.trial]
        if trial.index not in self.mine:  # stopped in the same round
            return
        self.took[trial.index] += report.seconds
        # A trial that repeats steps may fail before it is as far as the log; those steps are charged already.
        used = 0 if report.how == "finished" else max(0, report.step - trial.step)
        if report.how == "reading":
            self.journal.report(trial.index, report.step, report.reading)
            self.callbacks.reading(trial, report.step)
        elif not (report.how in FAILED and self.try_again(trial, report, used)):
            self.journal.close_own(trial.index, report.how, report.message, used)
        if not self.journal.runs(trial.index):
            self.end(trial)
        elif report.how == "reading":
            self.tidy_files(trial)

    def try_again(self, trial: TrialRecord, report: Report, used: int) -> bool:
        """Run a trial again that failed, or whose process was lost, if that is allowed and can be paid."""
        if trial.attempts >= self.limits.retries_after(report.how) or not self.journal.runs(trial.index):
            return False
        self.session.cancel(trial.index)
        start = self.session.resume_from(trial.index, trial.step) if trial.step else 0
        if not self.journal.retry(trial.index, start, report.message, used):
            return False
        _logger.warning("trial %d is tried again after step %d: %s", trial.index, start, report.message)
        self.submit(trial, start)
        return True

    def end(self, trial: TrialRecord) -> None:
        """A trial is not running here any more: it paused or ended, or another process has taken it over."""
        self.mine.discard(trial.index)
        taken = trial.worker != self.journal.worker
        if taken or trial.state != "paused":
            self.session.cancel(trial.index)
        if taken:
            _logger.warning("trial %d was taken over by %s", trial.index, trial.worker or "nobody yet")
            files_of(self.files, trial.index, self.had[trial.index]).abandon()
            return
        self.tidy_files(trial)
        if trial.state != "paused":
            self.say_ended(trial)
            self.callbacks.trial_end(trial)
        if trial.state in FAILED:
            self.count_failure()

    def let_go_of_others(self) -> None:
        """Stop running what another process has taken over while this one did not answer."""
        if not self.session.resubmits_running:
            for index in [index for index in self.mine if not self.journal.runs(index)]:
                self.end(self.journal.history.trials[index])

    def tidy_files(self, trial: TrialRecord) -> None:
        """Delete the snapshots that are no longer needed. The trial may be the best, whatever became of it."""
        files = files_of(self.files, trial.index, trial.holders)
        step, goes_on = trial.recommended.step if trial.recommended else 0, trial.state in ("running", "paused")
        files.prune(trial.step, step, ended=not goes_on)
        if goes_on:
            return
        if trial.state != "finished":
            files.drop_unlogged(trial.step)
        self.keeper.end(trial)

    def say_ended(self, trial: TrialRecord) -> None:
        first = trial.state in FAILED and not (self.said_failing or self.session.resubmits_running)
        self.said_failing |= first
        if not _logger.isEnabledFor(logging.INFO):
            if first:
                how = "failed" if trial.state == "failed" else "is lost"
                words = "trial %d %s, and the study goes on: %s. Further failures are logged at level INFO"
                _logger.warning(words, trial.index, how, trial.message)
            return
        history, sign = self.journal.history, self.journal.history.sign
        found, lowest = trial.recommended, history.lowest
        value = f" with value {sign * found.loss:g} at step {found.step}" if found else ""
        costs = [reading.cost for reading in trial.readings.values() if reading.cost is not None]
        cost = f", cost {sum(costs):g}" if costs else ""
        why = trial.message or trial.reason
        best = f". Best is trial {lowest[0].index} with {sign * lowest[2]:g}" if lowest else ""
        _logger.log(
            logging.WARNING if first else logging.INFO,
            "trial %d %s%s (%d steps, %.3g s%s; %s): %s%s",
            *(trial.index, trial.state, value, trial.step, trial.seconds, cost, why, dict(trial.config), best),
        )

    def count_failure(self) -> None:
        history = self.journal.history
        self.failures += 1
        if self.failures >= _MOST_FAILURES and not history.readings:
            first = next(trial for trial in history.closings if trial.state in FAILED)
            raise EverythingFailed(
                f"the first {self.failures} trials failed and none succeeded; the first (trial {first.index}, "
                f"{first.config}): {first.message}. Fix the objective and run it again: the study continues"
            )

    def end_overdue(self) -> None:
        """End the trials that have taken longer than they may."""
        for index in sorted(self.mine) if self.limits.has_timeout else ():
            if self.session.began(index) is not None and self.session.now() >= self.due(index):
                step = self.journal.history.trials[index].step + 1
                self.close(index, "failed", self.limits.timed_out(self.took[index], step))

    def stop_all(self, why: str) -> None:
        """End what this process is running."""
        for index in sorted(self.mine):
            self.close(index, "stopped", why)

    def close(self, index: int, how: Closing, why: str) -> None:
        """End a trial that is running here; a step in progress is charged."""
        steps = 0 if self.session.began(index) is None else 1
        self.session.cancel(index)
        self.journal.close_own(index, how, why, steps)
        self.end(self.journal.history.trials[index])

    def release_all(self) -> None:
        """The run was interrupted: what it was running may be taken over at once, which counts as no loss."""
        for index in () if self.session.resubmits_running else sorted(self.mine):
            if self.journal.runs(index):
                with suppress(ShoestringError):
                    self.journal.release(index, "the run was interrupted")
