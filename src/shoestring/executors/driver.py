"""The loop between a study and an executor: grant, submit, collect, log.

It keeps nothing of its own. What is running is in the log, so a run that was killed is taken up by
submitting what the log says is still running.
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
from shoestring.executors.inline import Inline

_logger = logging.getLogger("shoestring")

# An objective that fails this often before it ever succeeded is broken; the study can be resumed.
_HOPELESS = 20
# How long to wait before looking again at what other processes are doing.
_POLL = 0.05
_GLANCE = 0.5


def drive(journal: Journal, objective: Objective, executor: Executor, watched: AbstractContextManager[None]) -> None:
    """Run the objective on an executor until the study has nothing more to grant; ``watched`` shows how it goes."""
    check_objective(objective, journal.history.max_resource)
    if isinstance(journal.peek(), Done):
        return  # nothing to do: no reason to start workers
    session = executor.open(objective, journal.files())
    clock, journal.clock = journal.clock, session.now
    try:
        with watched:
            _Drive(journal, session).run()
    finally:
        session.close()
        journal.clock = clock
        journal.retire()


def default_executor(workers: int) -> Executor:
    if workers == 1:
        return Inline()
    from shoestring.executors.processes import Processes

    return Processes(workers)


class _Drive:
    def __init__(self, journal: Journal, session: Session) -> None:
        self.journal = journal
        self.session = session
        self.mine: set[int] = set()
        self.failures = 0
        self.waited = False
        if session.renews:
            journal.worker = "simulated"
            journal.clock = lambda: max(session.now(), journal.history.now)

    def run(self) -> None:
        if self.session.renews:
            for trial in list(self.journal.history.running.values()):
                self.submit(trial, trial.step)
        while True:
            over = self.fill()
            if over and not self.mine:
                return
            reports = self.session.collect(self.patience()) if self.mine else self.wait_for_others()
            for report in reports:
                self.record(report)
            deadline = self.journal.deadline()
            if deadline is not None and self.journal.clock() >= deadline:
                self.stop_all()

    def fill(self) -> bool:
        """Give work to every free slot; whether the study has nothing more to grant."""
        journal = self.journal
        while len(self.mine) < self.session.slots:
            others = len(journal.history.running) > len(self.mine)
            if others and not self.session.renews and self.take_over():
                continue
            answer = journal.grant()
            if not isinstance(answer, Granted):
                return isinstance(answer, Done)
            trial = journal.history.trials[answer.trial]
            start = self.session.resume_from(trial.index, trial.step) if trial.step else 0
            if start < trial.step and not journal.adopt(trial.index, start):
                continue
            self.submit(trial, start)
        return False

    def take_over(self) -> bool:
        """Take up one trial whose worker is gone."""
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

    def patience(self) -> float | None:
        """Until when to wait for a report: the deadline, or sooner if a slot is free for what others free."""
        deadline = self.journal.deadline()
        if self.session.renews or len(self.mine) >= self.session.slots:
            return deadline
        return min(deadline or math.inf, self.session.now() + _GLANCE)

    def wait_for_others(self) -> list[Report]:
        if not self.waited:
            held = "; ".join(f"trial {t.index} by {t.worker}" for t in self.journal.history.running.values())
            _logger.info("waiting for what others are running: %s", held)
        self.waited = True
        time.sleep(_POLL)
        self.journal.sync()
        return []

    def record(self, report: Report) -> None:
        journal = self.journal
        if report.trial not in journal.history.running:  # stopped at the deadline in this very round
            return
        if report.how == "reading":
            journal.report(report.trial, report.step, report.reading)
        else:
            # A trial that ran steps again may fail before it is as far as the log; those are charged already.
            used = max(0, report.step - journal.history.trials[report.trial].step)
            journal.close(report.trial, report.how, report.message, 0 if report.how == "finished" else used)
        trial = journal.history.trials[report.trial]
        if trial.state != "running":
            self.mine.discard(report.trial)
        if trial.state not in ("running", "paused"):
            self.session.cancel(report.trial)
        self.give_up_if_hopeless(trial)

    def give_up_if_hopeless(self, trial: TrialRecord) -> None:
        history = self.journal.history
        self.failures += trial.state in ("failed", "lost")
        if self.failures >= _HOPELESS and not history.readings:
            first = next(trial for trial in history.closings if trial.state in ("failed", "lost"))
            raise EverythingFailed(
                f"the first {self.failures} trials failed and none succeeded; the first (trial {first.index}, "
                f"{first.config}): {first.message}. Mend the objective and run it again: the study continues"
            )

    def stop_all(self) -> None:
        """The time is up: what is running in this process ends now."""
        for index in sorted(self.mine):
            self.session.cancel(index)
            self.journal.close(index, "stopped", "the budget's time ended", steps=1)
        self.mine.clear()
