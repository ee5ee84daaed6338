"""Advancing one trial step by step."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from typing import Any

from shoestring.core.workers import ticks
from shoestring.objectives.checks import yields
from shoestring.objectives.disk import disk_fault, stopping, unwritable
from shoestring.objectives.failures import end_report, error_line, failure_report
from shoestring.objectives.job import Job, Report
from shoestring.objectives.reporting import Call
from shoestring.objectives.trial import Trial
from shoestring.objectives.trial_files import TrialFiles
from shoestring.objectives.unwinding import TimeIsUp

_logger = logging.getLogger("shoestring")


class Stepper:
    """One trial in progress. ``step`` is the last step that was run."""

    def __init__(self, objective: Any, job: Job, files: TrialFiles, worker: int = 0, device: Any = None) -> None:
        self.job = job
        self.files = files
        self.step = job.start
        self._trial = Trial(job, files, worker, device)
        self._readings: Generator[Any, None, None] | Call
        self._readings = _iterate(objective, self._trial) if yields(objective) else Call(objective, self._trial, job)

    @property
    def held(self) -> bool:
        """Return whether the trial can go on from memory: not if it is a function that was unwound."""
        return not (isinstance(self._readings, Call) and self._readings.unwound)

    def take(self, job: Job) -> None:
        """Go on with another grant of the same trial, or with the next step of the same one."""
        self.job, self._trial.until = job, job.until

    def advance(self) -> Report:
        """Run to the next step that is not in the log yet."""
        began = ticks()
        report = self._advance()
        held, remarks = report.how == "reading" and self.held, self._trial.take_remarks()
        return report._replace(seconds=ticks() - began, held=held, remarks=remarks)

    def _advance(self) -> Report:
        while True:
            step = self.step + 1
            try:
                reading = self._next()
            except StopIteration:
                return end_report(self.job, step)
            except (KeyboardInterrupt, TimeIsUp):
                raise
            except BaseException as error:  # also SystemExit, and what asyncio raises for a task that is cancelled
                folder = self.files.study_folder
                fault = disk_fault(error, folder) or (unwritable(folder) if self.files.used else None)
                if fault is not None:
                    raise stopping(fault, f"trial {self.job.trial} could not use its files") from error
                return failure_report(self.job, step, error)
            self.step = step
            if step > self.job.known:
                try:
                    self.files.snapshot(step)
                except OSError as error:
                    return failure_report(self.job, step, error, "its files cannot be copied: ")
                return Report(self.job.trial, step, "reading", reading)

    def _next(self) -> Any:
        """The next reading. A process that the objective forked, and that comes back from it, is ended here: only the
        process that runs the study may go on with it.
        """
        process = os.getpid()
        try:
            return next(self._readings)
        finally:
            if os.getpid() != process:
                os._exit(1)

    def stop(self) -> None:
        """Close the generator, or unwind the function. An error in the clean-up is logged, and the study goes on."""
        try:
            self._readings.close()
        except Exception as error:
            _logger.warning("trial %d raised while it was closed: %s", self.job.trial, error_line(error))


def _iterate(objective: Any, trial: Trial) -> Generator[Any, None, None]:
    """Iterate over the readings of an objective; it is called when the first step is due."""
    yield from objective(trial)
