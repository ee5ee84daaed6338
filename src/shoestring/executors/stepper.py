"""Advancing a trial step by step, and holding paused trials in memory."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from shoestring.core.workers import ticks
from shoestring.executors.base import Job, Report, Trial
from shoestring.executors.checkpoints import TrialFiles, files_of
from shoestring.executors.disk import disk_fault, stopping
from shoestring.executors.failures import ended as ended, error_line as error_line, failed as failed
from shoestring.executors.inspection import yields
from shoestring.executors.reporting import Call

_logger = logging.getLogger("shoestring")


class TimeIsUp(BaseException):
    """Raised inside a step when it must end; not an Exception, so that objectives do not catch it."""


class Stepper:
    """One trial in progress. ``step`` is the last step that was run."""

    def __init__(self, objective: Any, job: Job, files: TrialFiles, worker: int = 0, device: Any = None) -> None:
        self.job = job
        self.files = files
        self.step = job.start
        self._trial = Trial(job, files, worker, device)
        self._readings: Generator[Any, None, None] | Call
        self._readings = _yielded(objective, self._trial) if yields(objective) else Call(objective, self._trial, job)

    @property
    def held(self) -> bool:
        """Whether the trial can go on from memory: not if it is a function that was unwound."""
        return not (isinstance(self._readings, Call) and self._readings.unwound)

    def take(self, job: Job) -> None:
        """Go on with another grant of the same trial, or with the next step of the same one."""
        self.job, self._trial.until = job, job.until

    def advance(self) -> Report:
        """Run to the next step that is not in the log yet."""
        began = ticks()
        report = self._advance()
        return report._replace(seconds=ticks() - began, held=report.how == "reading" and self.held)

    def _advance(self) -> Report:
        while True:
            step = self.step + 1
            try:
                reading = self._next()
            except StopIteration:
                return ended(self.job, step)
            except (KeyboardInterrupt, TimeIsUp):
                raise
            except BaseException as error:  # also SystemExit, and what asyncio raises for a task that is cancelled
                if (fault := disk_fault(error)) is not None:
                    raise stopping(fault, f"trial {self.job.trial} could not write its files") from error
                return failed(self.job, step, error)
            self.step = step
            if step > self.job.known:
                try:
                    self.files.snapshot(step)
                except OSError as error:
                    return failed(self.job, step, error, "its files cannot be copied: ")
                return Report(self.job.trial, step, "reading", reading)

    def _next(self) -> Any:
        """The next reading. A process that the objective forked, and that comes back from it, is ended here: only the
        process that runs the study may go on with it."""
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


def _yielded(objective: Any, trial: Trial) -> Generator[Any, None, None]:
    """What an objective yields; it is called when the first step is due."""
    yield from objective(trial)


class HeldTrials:
    """The trials that a process holds in memory, so that a paused one continues without files.

    Beyond ``limit`` one is dropped (see :class:`Keeping`); it is resumed later from its files, or from the start.
    Without ``leftovers`` of an earlier run a new trial has no files to clear, which saves checking for them.
    ``worker`` is the number of the process, and ``device`` what it computes on.
    """

    def __init__(
        self,
        objective: Any,
        directory: Path,
        limit: float = math.inf,
        leftovers: bool = True,
        worker: int = 0,
        device: Any = None,
    ) -> None:
        self._objective = objective
        self._directory = directory
        self._limit = limit
        self._leftovers = leftovers
        self._worker = worker
        self._device = device
        self._steppers: dict[int, Stepper] = {}
        self._keeping = Keeping()

    def holds(self, trial: int, step: int) -> bool:
        """Whether the trial is held right after ``step``; another process may have continued it since."""
        stepper = self._steppers.get(trial)
        return stepper is not None and stepper.step == step and stepper.held

    def stepper(self, job: Job) -> Stepper:
        """The stepper of a job: the one that is held at ``job.start``, or a new one that starts from the files."""
        if self.holds(job.trial, job.start):
            stepper = self._steppers.pop(job.trial)
            stepper.take(job)
        else:
            self.drop(job.trial)
            files = files_of(self._directory, job.trial, job.holders)
            if job.known or self._leftovers:
                files.restore(job.start)
            stepper = Stepper(self._objective, job, files, self._worker, self._device)
        self._steppers[job.trial] = stepper
        self._keeping.used(job.trial)
        while len(self._steppers) > self._limit:
            steps = {trial: held.step for trial, held in self._steppers.items() if trial != job.trial}
            self.drop(self._keeping.dropped(steps))
        return stepper

    def drop(self, trial: int) -> None:
        """Remove a trial from memory; its files stay."""
        stepper = self._steppers.pop(trial, None)
        if stepper is not None:
            stepper.stop()

    def close(self) -> None:
        for trial in list(self._steppers):
            self.drop(trial)


class Keeping:
    """Which paused trial to drop from memory: what would cost the fewest steps to repeat, and was not used for long.

    That is the rule known as GreedyDual: a trial is worth its steps, plus the worth of the last one that had been
    dropped when it was used last. So trials of one step do not displace a long training, and in the end that goes too.
    """

    def __init__(self) -> None:
        self._level = 0
        self._level_at: dict[int, int] = {}

    def used(self, trial: int) -> None:
        self._level_at.pop(trial, None)
        self._level_at[trial] = self._level

    def dropped(self, steps: Mapping[int, int]) -> int:
        """One of the trials, by how many steps each has; of equal ones the least recently used."""
        worth = {trial: level + steps[trial] for trial, level in self._level_at.items() if trial in steps}
        trial = min(worth, key=worth.__getitem__)
        self._level = worth[trial]
        del self._level_at[trial]
        return trial
