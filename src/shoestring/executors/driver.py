"""The loop between a study and an executor: grant, submit, collect, log.

The loop has no state that matters: what is running is in the log, so after a crash the trials that the log says are
running are submitted again.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import AbstractContextManager

from shoestring.core.decisions import Done
from shoestring.core.events import Granted
from shoestring.core.history import TrialRecord
from shoestring.core.journal import Journal
from shoestring.errors import EverythingFailed
from shoestring.executors.base import Executor, Job, Objective, Report, Session, check_objective
from shoestring.executors.checkpoints import files_of
from shoestring.executors.inline import Inline

_logger = logging.getLogger("shoestring")

# An objective that fails this often before its first success is broken; the study can be resumed.
_MOST_FAILURES = 20
# Seconds between two reads of what other processes did: while this one has nothing to run, and while it has.
_POLL_IDLE = 0.05
_POLL_BUSY = 0.5


def drive(journal: Journal, objective: Objective, executor: Executor, display: AbstractContextManager[None]) -> None:
    """Run the objective on an executor until the study has nothing more to grant; ``display`` shows the progress."""
    check_objective(objective, journal.history.max_resource)
    if isinstance(journal.peek(), Done):
        return  # nothing to do: no reason to start workers
    session = executor.open(objective, journal.files())
    clock, journal.clock = journal.clock, session.now
    try:
        with display:
            _Loop(journal, session).run()
    finally:
        session.close()
        journal.clock = clock
        journal.retire()


def default_executor(workers: int) -> Executor:
    if workers == 1:
        return Inline()
    from shoestring.executors.processes import Processes  # multiprocessing is loaded only where it is needed

    return Processes(workers)


class _Loop:
    def __init__(self, journal: Journal, session: Session) -> None:
        self.journal = journal
        self.session = session
        self.mine: set[int] = set()  # the trials that are running here
        self.files = journal.files()
        self.failures = 0
        self.said_waiting = False
        if session.resubmits_running:
            journal.worker = "simulated"
            journal.clock = lambda: max(session.now(), journal.history.now)

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
            deadline = self.journal.deadline()
            if deadline is not None and self.journal.clock() >= deadline:
                self.stop_all()

    def fill_slots(self) -> bool:
        """Give work to every free slot; whether the study has nothing more to grant."""
        journal = self.journal
        while len(self.mine) < self.session.slots:
            others = len(journal.history.running) > len(self.mine)
            if others and not self.session.resubmits_running and self.take_over():
                continue
            answer = journal.grant()
            if not isinstance(answer, Granted):
                return isinstance(answer, Done)
            trial = journal.history.trials[answer.trial]
            start = self.session.resume_from(trial.index, trial.step) if trial.step else 0
            if start == trial.step or journal.adopt(trial.index, start):
                self.submit(trial, start)
        return False

    def take_over(self) -> bool:
        """Resume one trial whose worker is gone."""
        for trial in self.journal.orphans():
            start = self.session.resume_from(trial.index, trial.step)
            if self.journal.adopt(trial.index, start):
                self.submit(trial, start)
                return True
        return False

    def submit(self, trial: TrialRecord, start: int) -> None:
        self.mine.add(trial.index)
        self.session.submit(
            Job(
                trial.index, trial.arm, trial.replicate, trial.config, trial.seed,
                start, trial.until, trial.step, trial.reported_at, trial.granted,
            )
        )  # fmt: skip

    def wait_until(self) -> float | None:
        """Until when to wait for a report: the deadline, or sooner while a free slot waits for other processes."""
        deadline = self.journal.deadline()
        if self.session.resubmits_running or len(self.mine) >= self.session.slots:
            return deadline
        return min(deadline or math.inf, self.session.now() + _POLL_BUSY)

    def wait_for_others(self) -> list[Report]:
        if not self.said_waiting:
            running = "; ".join(f"trial {t.index} by {t.worker}" for t in self.journal.history.running.values())
            _logger.info("waiting for trials that other processes are running: %s", running)
        self.said_waiting = True
        time.sleep(_POLL_IDLE)
        self.journal.sync()
        return []

    def record(self, report: Report) -> None:
        history = self.journal.history
        if report.trial not in history.running:  # stopped at the deadline in the same round
            return
        trial = history.trials[report.trial]
        if report.how == "reading":
            self.journal.report(trial.index, report.step, report.reading)
        else:
            # A trial that repeats steps may fail before it is as far as the log; those steps are charged already.
            used = 0 if report.how == "finished" else max(0, report.step - trial.step)
            self.journal.close(trial.index, report.how, report.message, used)
        if trial.state != "running":
            self.mine.discard(trial.index)
        if trial.state not in ("running", "paused"):
            self.session.cancel(trial.index)
        self.tidy_files(trial)
        if trial.state in ("failed", "lost"):
            self.count_failure()

    def tidy_files(self, trial: TrialRecord) -> None:
        """Delete the snapshots that are no longer needed. The trial may be the best, whatever became of it."""
        files = files_of(self.files, trial.index)
        step = trial.recommended.step if trial.recommended else 0
        if trial.state in ("running", "paused"):
            files.prune(trial.step, step)
            return
        if trial.state != "finished" and (kept := files.newest(trial.step)):
            try:
                files.restore(kept)  # not the files of the step that failed or was interrupted
            except OSError as error:
                _logger.warning("the files of trial %d cannot be restored to step %d: %s", trial.index, kept, error)
        files.prune_ended(None if trial.state == "finished" and step == trial.step else step)

    def count_failure(self) -> None:
        history = self.journal.history
        self.failures += 1
        if self.failures >= _MOST_FAILURES and not history.readings:
            first = next(trial for trial in history.closings if trial.state in ("failed", "lost"))
            raise EverythingFailed(
                f"the first {self.failures} trials failed and none succeeded; the first (trial {first.index}, "
                f"{first.config}): {first.message}. Fix the objective and run it again: the study continues"
            )

    def stop_all(self) -> None:
        """The time is up: end what this process is running."""
        for index in sorted(self.mine):
            self.session.cancel(index)
            self.journal.close(index, "stopped", "the budget's time ended", steps=1)
            self.tidy_files(self.journal.history.trials[index])
        self.mine.clear()
