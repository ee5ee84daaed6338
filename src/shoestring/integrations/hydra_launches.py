"""Trials as jobs of Hydra's launcher: an executor that launches a batch of grants and waits for all of them.

A launcher takes a batch and answers when its last job has ended, so a job trains to the end of its grant and its
reports reach the log together then. The launcher is given :class:`HydraJob` in place of the program's function: it
runs a grant as our other executors do, with snapshots of the trial's files after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shoestring.core.workers import ticks
from shoestring.executors.worker_process import plain_report
from shoestring.hydra import RunningJob, running
from shoestring.objectives.held_trials import HeldTrials
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial import Trial
from shoestring.objectives.trial_files import files_of


class HydraJob:
    """Runs in a launcher in place of the program's function; the answer is the reports of a grant.

    ``grants`` has the grant of each job by its number, and ``directory`` the files of the study. Both are set before
    each launch, because launchers pickle this object then.
    """

    def __init__(self, task_function: Callable[[Any], Any]) -> None:
        self._task_function = task_function
        self.grants: Mapping[int, Job] = {}
        self.directory = Path()

    def __call__(self, config: Any) -> list[Report]:
        from hydra.core.hydra_config import HydraConfig  # the extra hydra

        job = self.grants[HydraConfig.get().job.num]
        held = HeldTrials(partial(_call, self._task_function, config), self.directory)
        try:
            stepper, reports = held.stepper(job), list[Report]()
            while not reports or not reports[-1].completes(job):
                reports.append(plain_report(stepper.advance())._replace(held=False))
        finally:
            held.close()
        return reports


def _call(task_function: Callable[[Any], Any], config: Any, trial: Trial) -> Any:
    """The program's function as an objective. One that reports may return a value too, as jobs of Hydra do."""
    job = RunningJob(trial)
    before = running.set(job)
    try:
        value = task_function(config)
    finally:
        running.reset(before)
    return None if job.reports else value


class HydraLaunches:
    """An executor: ``launch`` runs a batch of jobs, each a list of overrides, and numbers them from a number on."""

    def __init__(
        self,
        job: HydraJob,
        slots: int,
        launch: Callable[[Sequence[Sequence[str]], int], Sequence[Any]],
        overrides: Callable[[Mapping[str, Any]], Sequence[str]],
    ) -> None:
        self.job, self.slots, self.launch, self.overrides = job, slots, launch, overrides

    def open(self, objective: Any, directory: Path) -> HydraSession:
        self.job.directory = directory.resolve()
        return HydraSession(self)


class HydraSession:
    resubmits_running = False
    now = staticmethod(ticks)

    def __init__(self, executor: HydraLaunches) -> None:
        self.slots = executor.slots
        self._executor = executor
        self._waiting: dict[int, Job] = {}
        self._launched = 0

    def resume_from(self, trial: int, step: int) -> int:
        return files_of(self._executor.job.directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        self._waiting[job.trial] = job

    def began(self, trial: int) -> float | None:
        return None  # between two launches nothing runs

    def collect(self, until: float | None) -> list[Report]:
        batch, self._waiting = list(self._waiting.values()), {}
        if not batch:
            return []
        executor, first = self._executor, self._launched
        executor.job.grants = dict(enumerate(batch, first))
        self._launched += len(batch)
        returned = executor.launch([executor.overrides(job.config) for job in batch], first)
        return [report for each in returned for report in each.return_value]

    def cancel(self, trial: int) -> None:
        self._waiting.pop(trial, None)

    def close(self) -> None:
        """Nothing runs here between two launches."""
