"""Rules for the files that are kept: of trials that can be continued, and of the best ones that ended."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

from shoestring.core.history import History, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.recommendation import advised_best
from shoestring.errors import MethodError
from shoestring.objectives.folders import is_folder
from shoestring.objectives.trial_files import files_of

# How many ended trials keep their files.
DEFAULT_KEEP = 3


def check_keep(keep: object) -> None:
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 0):
        raise MethodError(
            f"keep is {keep!r}; it is how many ended trials keep their files, a whole number from 0, or None for all"
        )


def recommended_steps(history: History, trial: TrialRecord) -> set[int]:
    """The steps of a trial whose checkpoints may be wanted: the recommended one, and those on the front."""
    steps = {point.step for point in history.front if point.trial is trial}
    return steps | {trial.recommended.step} if trial.recommended else steps


class Retention:
    """Deletes the files of ended trials, except for the best ``keep`` and those that the study recommends."""

    def __init__(self, directory: Path, journal: Journal, keep: int | None) -> None:
        self._directory = directory
        self._journal = journal
        self._history = journal.history
        self._keep = keep
        self._ended = [trial for trial in self._with_files() if trial.state not in ("running", "paused")]

    def _with_files(self) -> list[TrialRecord]:
        """The trials that have a folder, in log order."""
        try:
            names = os.listdir(self._directory) if is_folder(self._directory) else []
        except OSError:
            return []
        numbers = (name.removeprefix("trial-") for name in names)
        indices = sorted(int(number) for number in numbers if number.isascii() and number.isdigit())
        return [self._history.trials[index] for index in indices if index < len(self._history.trials)]

    def end(self, trial: TrialRecord) -> None:
        """A trial ended: the files of the worst that are beyond ``keep`` are deleted."""
        if files_of(self._directory, trial.index, trial.holders).exist() and trial not in self._ended:
            self._ended.append(trial)
        if self._keep is None or len(self._ended) <= self._keep:
            return
        best, loss = advised_best(self._history, self._journal.current_method), self._loss()
        self._ended.sort(key=lambda trial: (loss(trial), trial.index))
        needed = {point.trial.index for point in self._history.front} | ({best.trial} if best else set())
        for dropped in self._ended[self._keep :]:
            if dropped.index not in needed:
                files_of(self._directory, dropped.index, dropped.holders).delete(dropped.step)
                self._ended.remove(dropped)

    def _loss(self) -> Callable[[TrialRecord], float]:
        """Return the loss by which ``study.best`` compares trials: with several trials of a configuration, the mean at
        the last step.
        """
        trials = self._history.trials
        if len(trials) == len(self._history.arms):
            return _recommended_loss
        step = max(trial.step for trial in trials)

        def mean(trial: TrialRecord) -> float:
            there = [t.losses[step] for t in self._history.arms[trial.arm].trials if step in t.losses]
            return sum(there) / len(there) if there and step in trial.losses else math.inf

        return mean

    def clean_up(self, worker: str) -> None:
        """The run is over: what others ended meanwhile is deleted too, and no file is there twice.

        No process has the trials that this worker ran last in memory now, so their snapshots are enough.
        """
        for trial in self._with_files():
            if trial.state not in ("running", "paused"):
                self.end(trial)
            if trial.state != "running" and trial.worker == worker:
                files_of(self._directory, trial.index, trial.holders).settle(trial.step)


def _recommended_loss(trial: TrialRecord) -> float:
    """The loss that the study's rule finds; without a feasible reading a trial comes last."""
    found = trial.recommended
    return found.loss if found and trial.is_feasible(found.step) else math.inf
