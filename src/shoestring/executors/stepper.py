"""Advancing a trial step by step, and holding paused trials in memory."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

from shoestring.executors.base import Job, Report, Trial
from shoestring.executors.checkpoints import TrialFiles, files_of

_logger = logging.getLogger("shoestring")


class Stepper:
    """One trial in progress. ``step`` is the last step that was run."""

    def __init__(self, objective: Any, job: Job, files: TrialFiles) -> None:
        self.job = job
        self.files = files
        self.step = job.start
        self._readings = _readings(objective, Trial(job, files))

    def advance(self) -> Report:
        """Run to the next step that is not in the log yet."""
        while True:
            step = self.step + 1
            try:
                reading = next(self._readings)
            except StopIteration:
                return ended(self.job, step)
            except (Exception, SystemExit) as error:
                return failed(self.job, step, error)
            self.step = step
            if step > self.job.known:
                try:
                    self.files.snapshot(step)
                except OSError as error:
                    return failed(self.job, step, error, "its files cannot be copied: ")
                return Report(self.job.trial, step, "reading", reading)

    def stop(self) -> None:
        """Close the generator. An error in its clean-up is logged and does not end the study."""
        try:
            self._readings.close()
        except Exception as error:
            _logger.warning("trial %d raised while it was closed: %s", self.job.trial, error_line(error))


def _readings(objective: Any, trial: Trial) -> Generator[Any, None, None]:
    """What an objective yields, or the one reading that it returns; it is called when the first step is due."""
    outcome = objective(trial)
    if hasattr(outcome, "__next__"):
        yield from outcome
    else:
        yield outcome


class HeldTrials:
    """The trials that a process holds in memory, so that a paused one continues without files.

    Beyond ``limit`` the least recently used one is dropped; it is resumed later from its files, or from the start.
    Without ``leftovers`` of an earlier run a new trial has no files to clear, which saves checking for them.
    """

    def __init__(self, objective: Any, directory: Path, limit: float = math.inf, leftovers: bool = True) -> None:
        self._objective = objective
        self._directory = directory
        self._limit = limit
        self._leftovers = leftovers
        self._steppers: dict[int, Stepper] = {}

    def holds(self, trial: int, step: int) -> bool:
        """Whether the trial is held right after ``step``; another process may have continued it since."""
        return trial in self._steppers and self._steppers[trial].step == step

    def stepper(self, job: Job) -> Stepper:
        """The stepper of a job: the one that is held at ``job.start``, or a new one that starts from the files."""
        if self.holds(job.trial, job.start):
            stepper = self._steppers.pop(job.trial)
            stepper.job = job
        else:
            self.drop(job.trial)
            files = files_of(self._directory, job.trial)
            if job.known or self._leftovers:
                files.restore(job.start)
            stepper = Stepper(self._objective, job, files)
        self._steppers[job.trial] = stepper
        while len(self._steppers) > self._limit:
            self.drop(next(iter(self._steppers)))
        return stepper

    def drop(self, trial: int) -> None:
        """Remove a trial from memory; its files stay."""
        stepper = self._steppers.pop(trial, None)
        if stepper is not None:
            stepper.stop()

    def close(self) -> None:
        for trial in list(self._steppers):
            self.drop(trial)


def ended(job: Job, step: int) -> Report:
    """The report of a trial that has no more steps: a normal end, unless it never gave a reading."""
    if step > 1:
        return Report(job.trial, step, "finished")
    return Report(job.trial, step, "failed", message="it ended without a reading")


def failed(job: Job, step: int, error: BaseException, prefix: str = "") -> Report:
    return Report(job.trial, step, "failed", message=prefix + error_line(error))


def error_line(error: BaseException) -> str:
    """An exception in one line, with the place in the user's code that raised it."""
    try:
        message = str(error)[:1000]
    except Exception:
        message = "its message cannot be shown"
    frames = traceback.extract_tb(error.__traceback__)
    file, line = (frames[-1].filename, frames[-1].lineno) if frames else ("", None)
    if isinstance(error, SyntaxError):
        file, line, message = error.filename or "", error.lineno, error.msg
    return f"{type(error).__name__}: {message}" + (f" ({Path(file).name}:{line})" if file else "")
