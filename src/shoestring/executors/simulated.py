"""Trials on a virtual clock: thousands of workers, no waiting.

Each running trial has one entry in a heap, at the time its next reading is due. That time follows
from the log alone (the trial's last event plus the duration of the step), and equal times go by log
order, so a simulation cut anywhere continues as if it had not been.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.base import Job, Report, Stepper, ended, told
from shoestring.executors.checkpoints import files_of


@dataclass(frozen=True)
class Simulated:
    """Play a problem with ``workers`` virtual workers.

    A problem has ``reading(config, step, seed)`` and may have ``seconds(config, step, seed)``, the
    duration of a step (1 if it has none). Any other objective is run as it is, a second a step.
    """

    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise MethodError(f"workers is {self.workers}; at least one is needed")

    def open(self, objective: Any, directory: Path) -> SimulatedSession:
        return SimulatedSession(objective, directory, self.workers)


class SimulatedSession:
    renews = True

    def __init__(self, objective: Any, directory: Path, workers: int) -> None:
        self.slots = workers
        self._objective = objective
        self._directory = directory
        self._reading = getattr(objective, "reading", None)
        self._seconds = getattr(objective, "seconds", None)
        self._now = 0.0
        self._heap: list[tuple[float, int, int]] = []
        self._jobs: dict[int, Job] = {}
        self._steps: dict[int, int] = {}
        self._steppers: dict[int, Stepper] = {}

    def now(self) -> float:
        return self._now

    def resume_from(self, trial: int, step: int) -> int:
        return step

    def submit(self, job: Job) -> None:
        self._now = max(self._now, job.at)
        self._jobs[job.trial] = job
        self._steps[job.trial] = job.known
        self._push(job, job.known + 1, job.at)

    def _push(self, job: Job, step: int, at: float) -> None:
        duration = self._seconds(job.config, step, job.seed) if self._seconds else 1.0
        if not 0 <= duration < math.inf:
            raise ObjectiveError(f"step {step} of {job.config} takes {duration!r} seconds: a duration is from 0 on")
        heapq.heappush(self._heap, (at + duration, job.order, job.trial))

    def collect(self, until: float | None) -> list[Report]:
        while self._heap and self._heap[0][2] not in self._jobs:
            heapq.heappop(self._heap)
        if not self._heap:
            return []
        at, _, trial = self._heap[0]
        if until is not None and at > until:
            self._now = max(self._now, until)
            return []
        heapq.heappop(self._heap)
        self._now = max(self._now, at)
        job = self._jobs[trial]
        report = self._advance(job, self._steps[trial] + 1)
        if report.how != "reading" or report.step >= job.until:
            del self._jobs[trial], self._steps[trial]
        else:
            self._steps[trial] = report.step
            self._push(job, report.step + 1, at)
        return [report]

    def _advance(self, job: Job, step: int) -> Report:
        if self._reading is not None:
            try:
                return Report(job.trial, step, "reading", self._reading(job.config, step, job.seed))
            except StopIteration:
                return ended(job, step)
            except Exception as error:
                return Report(job.trial, step, "failed", message=told(error))
        stepper = self._steppers.get(job.trial)
        if stepper is None:
            # A trial taken up from the log runs its known steps again, which costs no virtual time.
            stepper = Stepper(self._objective, job._replace(start=0), files_of(self._directory, job.trial))
            self._steppers[job.trial] = stepper
        else:
            stepper.job = job
        return stepper.advance()

    def cancel(self, trial: int) -> None:
        self._jobs.pop(trial, None)
        self._steps.pop(trial, None)
        stepper = self._steppers.pop(trial, None)
        if stepper is not None:
            stepper.stop()
            stepper.files.settle()

    def close(self) -> None:
        self._steppers.clear()
