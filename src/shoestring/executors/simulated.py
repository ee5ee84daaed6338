"""Trials on a virtual clock: thousands of workers, no waiting.

Each running trial has one entry in a heap, at the time its next reading is due. That time follows from the log
alone (the trial's last event plus the duration of the step), and ties are broken by log order, so a simulation that
was cut anywhere continues as if it had not been.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoestring.core.options import check_whole
from shoestring.errors import ObjectiveError
from shoestring.objectives.failures import end_report, failure_report
from shoestring.objectives.held_trials import HeldTrials
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial_files import files_of


@dataclass(frozen=True)
class Simulated:
    """Simulate a problem with ``workers`` virtual workers.

    A problem has ``reading(config, step, seed)`` and may have ``seconds(config, step, seed)``, the
    duration of a step (1 if it has none). Any other objective is called as usual, and a step takes one second.
    """

    workers: int = 1

    def __post_init__(self) -> None:
        check_whole(self, workers=1)

    def open(self, objective: Any, directory: Path) -> SimulatedSession:
        return SimulatedSession(objective, directory, self.workers)


class SimulatedSession:
    resubmits_running = True

    def __init__(self, objective: Any, directory: Path, workers: int) -> None:
        self.slots = workers
        self._reading = getattr(objective, "reading", None)
        self._seconds = getattr(objective, "seconds", None)
        self._directory = directory
        self._held = HeldTrials(objective, directory)
        self._now = 0.0
        self._due: list[tuple[float, int, int]] = []  # a heap of (time, order, trial)
        self._jobs: dict[int, Job] = {}
        self._began: dict[int, float] = {}

    def now(self) -> float:
        return self._now

    def resume_from(self, trial: int, step: int) -> int:
        return step

    def began(self, trial: int) -> float | None:
        began = self._began.get(trial, math.inf)
        return began if began < self._now else None

    def submit(self, job: Job) -> None:
        self._now = max(self._now, job.at)
        self._schedule(job, job.at)

    def _schedule(self, job: Job, at: float) -> None:
        step = job.known + 1
        duration = self._seconds(job.config, step, job.seed) if self._seconds else 1.0
        if not 0 <= duration < math.inf:
            raise ObjectiveError(
                f"step {step} of {job.config} takes {duration!r} seconds; a duration is a finite number, 0 or more"
            )
        self._jobs[job.trial], self._began[job.trial] = job, at
        heapq.heappush(self._due, (at + duration, job.order, job.trial))

    def collect(self, until: float | None) -> list[Report]:
        while self._due and self._due[0][2] not in self._jobs:  # cancelled
            heapq.heappop(self._due)
        if not self._due:
            return []
        at, _, trial = self._due[0]
        if until is not None and at > until:
            self._now = max(self._now, until)
            return []
        heapq.heappop(self._due)
        self._now = max(self._now, at)
        job = self._jobs.pop(trial)
        report = self._advance(job)._replace(seconds=at - self._began[trial])
        if not report.completes(job):
            self._schedule(job._replace(known=report.step), at)
        return [report]

    def _advance(self, job: Job) -> Report:
        if self._reading is None:
            # Known steps that are run again, because no snapshot was taken after them, cost no virtual time.
            held = self._held.holds(job.trial, job.known)
            start = job.known if held or not job.known else files_of(self._directory, job.trial).newest(job.known)
            report = self._held.stepper(job._replace(start=start)).advance()
            if not report.held:
                self._held.drop(report.trial)
            return report
        step = job.known + 1
        try:
            return Report(job.trial, step, "reading", self._reading(job.config, step, job.seed))
        except StopIteration:
            return end_report(job, step)
        except Exception as error:
            return failure_report(job, step, error)

    def cancel(self, trial: int) -> None:
        self._jobs.pop(trial, None)
        self._held.drop(trial)

    def close(self) -> None:
        self._held.close()
