"""The loop between a study and an executor: grant, submit, collect, log.

The loop has no state that matters: the log says what is running, so after a crash the trials that the log says are
running are submitted again.
"""

from __future__ import annotations

import math
import re
import time
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from typing import Any

from shoestring.core.decisions import Done
from shoestring.core.events import Closing
from shoestring.core.history import FAILED, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.remarks import note_on_trial
from shoestring.errors import EverythingFailed, ShoestringError, StorageError
from shoestring.executors.base import Executor, Session
from shoestring.executors.inline import Inline
from shoestring.objectives.checks import check_objective
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial import Objective
from shoestring.objectives.trial_files import files_of
from shoestring.running.callbacks import Callbacks
from shoestring.running.limits import Limits
from shoestring.running.messages import Messages
from shoestring.running.options import RunOptions
from shoestring.running.retention import DEFAULT_KEEP, Retention, recommended_steps

# An objective that fails this often before its first success, or this often in a row in the same way, is broken, or
# something that it needs has failed; the study can be resumed.
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
    reached = limits.reason_to_stop(journal.history)
    if journal.history.stopped and not reached:
        journal.stop("")  # it was stopped before, and is run again
    elif reached and not isinstance(journal.peek(), Done):
        journal.stop(reached)  # by what is known already: nothing is spent on it
    if isinstance(journal.peek(), Done):
        return  # nothing to do: no reason to start workers
    session = executor.open(objective, journal.files())
    loop = Loop(journal, session, limits, keep, callbacks)
    virtual_time = loop.virtual_time if session.resubmits_running else None
    with ExitStack() as at_end:
        at_end.callback(callbacks.study_end)
        at_end.enter_context(journal.running(limits.retries_after("lost"), virtual_time))
        at_end.callback(loop.shut_down)
        at_end.enter_context(display)
        loop.run()


def default_executor(options: RunOptions) -> Executor:
    """This process for one worker without options of its own, else processes."""
    at_start: dict[str, Any] = {name: options[name] for name in ("gpus", "devices", "threads", "init")}
    if options["workers"] == 1 and not any(given is not None for given in at_start.values()):
        return Inline()
    from shoestring.executors.processes import Processes  # multiprocessing is loaded only where it is needed

    return Processes(options["workers"], **at_start)


class Loop:
    def __init__(
        self, journal: Journal, session: Session, limits: Limits, keep: int | None, callbacks: Callbacks
    ) -> None:
        self.callbacks = callbacks
        self.journal = journal
        self.session = session
        self.limits = limits
        self.own: set[int] = set()  # the trials that are running here
        self.holders_at_start: dict[int, int] = {}  # how often each trial had changed hands when it started
        self.seconds_used: dict[int, float] = {}  # how long the steps of each took
        self.files = journal.files()
        self.retention = Retention(self.files, journal, keep)
        self.failures = 0
        self.alike: list[TrialRecord] = []  # the trials that failed in the same way since the last reading
        self.messages = Messages(journal.history, quiet=session.resubmits_running)

    def virtual_time(self) -> float:
        return max(self.session.now(), self.journal.history.now)

    def run(self) -> None:
        if self.session.resubmits_running:
            for trial in list(self.journal.history.running.values()):
                self.submit(trial, trial.step)
        while True:
            over = self.fill_slots()
            if over and not self.own:
                return
            reports = self.session.collect(self.wait_until()) if self.own else self.wait_for_others()
            for report in reports:
                self.record(report)
            if not reports:
                self.journal.sync()
            self.end_overdue()
            self.drop_taken_over()
            if (reason := self.limits.reason_to_stop(self.journal.history)) and not self.journal.history.stopped:
                self.journal.stop(reason)
            if self.journal.history.stopped:
                self.stop_all(self.journal.history.stopped)
            elif self.journal.seconds_left() <= 0:
                self.stop_all("the budget's time ended")

    def fill_slots(self) -> bool:
        """Give work to every free slot; whether the study has nothing more to grant."""
        journal = self.journal
        while len(self.own) < self.session.slots:
            others = len(journal.history.running) > len(self.own)
            if others and not self.session.resubmits_running and self.take_over():
                continue
            answer = journal.grants(self.session.slots - len(self.own))
            if not isinstance(answer, list):
                return isinstance(answer, Done)
            for granted in answer:
                self.start(journal.history.trials[granted.trial])
        return False

    def start(self, trial: TrialRecord) -> None:
        """Run what was granted, from where it can be continued here."""
        if trial.step and self.holders_at_start.get(trial.index, trial.holders) != trial.holders:
            self.session.cancel(trial.index)  # the copy held here is older than the work of another process
        start = self.session.resume_from(trial.index, trial.step) if trial.step else 0
        if start < trial.step:
            self.messages.repeating(trial, start)
        if start == trial.step or self.journal.adopt(trial.index, start):
            self.submit(trial, start)
        elif trial.state == "lost":
            self.end_lost(trial)

    def take_over(self) -> bool:
        """Resume one trial whose worker has died."""
        for trial in self.journal.trials_of_gone_workers():
            self.session.cancel(trial.index)
            start = self.session.resume_from(trial.index, trial.step)
            if self.journal.adopt(trial.index, start):
                if start < trial.step:
                    self.messages.repeating(trial, start)
                self.messages.taking_over(trial, start)
                self.submit(trial, start)
                return True
            if trial.state == "lost":
                self.end_lost(trial)
        return False

    def end_lost(self, trial: TrialRecord) -> None:
        """A trial could not be taken up again, and has ended without being run here."""
        self.messages.note_end(trial)
        self.tidy_files(trial)
        self.callbacks.trial_end(trial)

    def submit(self, trial: TrialRecord, start: int) -> None:
        self.own.add(trial.index)
        self.holders_at_start[trial.index] = trial.holders
        self.seconds_used.setdefault(trial.index, trial.seconds)
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
            deadline = self.journal.history.deadline()
            until = math.inf if deadline is None else deadline
        else:
            until = now + self.journal.seconds_left()
            if session.slots > 1:  # a session with one slot may not be able to wait without ending its step
                until = min(until, now + (_POLL_BUSY if len(self.own) >= session.slots else _POLL_FREE))
        until = min([until, *(self.due(index) for index in self.own)]) if self.limits.has_timeout else until
        return None if until == math.inf else until

    def due(self, index: int) -> float:
        """Return when a trial has taken too long, by the session's clock."""
        began = self.session.began(index)
        return (self.session.now() if began is None else began) + self.limits.seconds_for(self.seconds_used[index])

    def wait_for_others(self) -> list[Report]:
        self.messages.waiting()
        time.sleep(_POLL_IDLE)
        return []

    def record(self, report: Report) -> None:
        if report.how == "storage":
            raise StorageError(report.message)
        trial = self.journal.history.trials[report.trial]
        if trial.index not in self.own:  # stopped in the same round
            return
        self.seconds_used[trial.index] += report.seconds
        if report.remarks is not None:
            self.journal.put(partial(note_on_trial, trial=trial.index, remarks=report.remarks))
        # A trial that repeats steps may fail before it is as far as the log; those steps are charged already.
        used = 0 if report.how == "finished" else max(0, report.step - trial.step)
        if report.how == "reading":
            self.journal.report(trial.index, report.step, report.reading)
            self.alike.clear()
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
        self.messages.trying_again(trial, start, report.message)
        self.submit(trial, start)
        return True

    def end(self, trial: TrialRecord) -> None:
        """A trial is not running here any more: it paused or ended, or another process has taken it over."""
        self.own.discard(trial.index)
        taken = trial.worker != self.journal.worker
        if taken or trial.state != "paused":
            self.session.cancel(trial.index)
        if taken:
            self.messages.note_takeover(trial)
            files_of(self.files, trial.index, self.holders_at_start[trial.index]).abandon()
            return
        self.tidy_files(trial)
        if trial.state != "paused":
            self.messages.note_end(trial)
            self.callbacks.trial_end(trial)
        if trial.state in FAILED:
            self.count_failure(trial)

    def drop_taken_over(self) -> None:
        """Stop running what another process has taken over while this one did not answer."""
        if not self.session.resubmits_running:
            for index in [index for index in self.own if not self.journal.runs(index)]:
                self.end(self.journal.history.trials[index])

    def tidy_files(self, trial: TrialRecord) -> None:
        """Delete the snapshots that are no longer needed. The trial may be the best, whatever became of it."""
        files = files_of(self.files, trial.index, trial.holders)
        goes_on = trial.state in ("running", "paused")
        files.prune(trial.step, recommended_steps(self.journal.history, trial), ended=not goes_on)
        if goes_on:
            return
        if trial.state != "finished":
            files.drop_unlogged(trial.step)
        self.retention.end(trial)

    def count_failure(self, trial: TrialRecord) -> None:
        history = self.journal.history
        self.failures += 1
        if self.alike and _without_numbers(self.alike[0].message) != _without_numbers(trial.message):
            self.alike.clear()
        self.alike.append(trial)
        if self.failures >= _MOST_FAILURES and not history.readings:
            first = next(trial for trial in history.closings if trial.state in FAILED)
            raise EverythingFailed(
                f"the first {self.failures} trials failed and none succeeded; the first (trial {first.index}, "
                f"{first.config}): {first.message}. Fix the objective and run it again: the study continues"
            )
        if len(self.alike) >= _MOST_FAILURES:
            first = self.alike[0]
            raise EverythingFailed(
                f"{len(self.alike)} trials in a row failed in the same way, without a reading between them; the first "
                f"(trial {first.index}, {first.config}): {first.message}. Remove the cause and run it again: the study "
                "continues"
            )

    def end_overdue(self) -> None:
        """End the trials that have taken longer than they may."""
        for index in sorted(self.own) if self.limits.has_timeout else ():
            if self.session.began(index) is not None and self.session.now() >= self.due(index):
                step = self.journal.history.trials[index].step + 1
                self.close(index, "failed", self.limits.describe_timeout(self.seconds_used[index], step))

    def stop_all(self, why: str) -> None:
        """End what this process is running."""
        for index in sorted(self.own):
            self.close(index, "stopped", why)

    def close(self, index: int, how: Closing, why: str) -> None:
        """End a trial that is running here; a step in progress is charged."""
        steps = 0 if self.session.began(index) is None else 1
        self.session.cancel(index)
        self.journal.close_own(index, how, why, steps)
        self.end(self.journal.history.trials[index])

    def shut_down(self) -> None:
        self.release_all()
        self.session.close()
        self.retention.clean_up(self.journal.worker)
        self.release_all()  # on a full disk there may be room for it only now

    def release_all(self) -> None:
        """Release the trials of an interrupted run: they may be taken over at once, without counting as lost."""
        for index in () if self.session.resubmits_running else sorted(self.own):
            if self.journal.runs(index):
                with suppress(ShoestringError):
                    self.journal.release(index, "the run was interrupted")


def _without_numbers(message: str) -> str:
    """A message without what differs between trials that failed for one reason: paths with their numbers, values."""
    return re.sub(r"[\d.]+", "0", message)
