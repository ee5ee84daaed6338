"""Paused trials that a process holds in memory, and their eviction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoestring.objectives.job import Job
from shoestring.objectives.stepper import Stepper
from shoestring.objectives.trial_files import files_of


class HeldTrials:
    """The trials that a process holds in memory, so that a paused one continues without files.

    Beyond ``limit`` one is dropped (see :class:`Eviction`); it is resumed later from its files, or from the start.
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
        self._eviction = Eviction()

    def holds(self, trial: int, step: int) -> bool:
        """Return whether the trial is held right after ``step``; another process may have continued it since."""
        stepper = self._steppers.get(trial)
        return stepper is not None and stepper.step == step and stepper.held

    def stepper(self, job: Job) -> Stepper:
        """Return the stepper of a job: held at ``job.start``, or new, starting from the files."""
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
        self._eviction.note_use(job.trial)
        while len(self._steppers) > self._limit:
            steps = {trial: held.step for trial, held in self._steppers.items() if trial != job.trial}
            self.drop(self._eviction.choose(steps))
        return stepper

    def drop(self, trial: int) -> None:
        """Remove a trial from memory; its files stay."""
        stepper = self._steppers.pop(trial, None)
        if stepper is not None:
            stepper.stop()

    def close(self) -> None:
        for trial in list(self._steppers):
            self.drop(trial)


class Eviction:
    """Chooses the paused trial to drop from memory: few steps to repeat, and not used for long.

    That is the rule known as GreedyDual: a trial is worth its steps, plus the worth of the last one that had been
    dropped when it was used last. So trials of one step do not displace a long training, and in the end that goes too.
    """

    def __init__(self) -> None:
        self._level = 0
        self._level_at: dict[int, int] = {}

    def note_use(self, trial: int) -> None:
        self._level_at.pop(trial, None)
        self._level_at[trial] = self._level

    def choose(self, steps: Mapping[int, int]) -> int:
        """One of the trials, by how many steps each has; of equal ones the least recently used."""
        worth = {trial: level + steps[trial] for trial, level in self._level_at.items() if trial in steps}
        trial = min(worth, key=worth.__getitem__)
        self._level = worth[trial]
        del self._level_at[trial]
        return trial
