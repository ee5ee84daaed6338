"""Grants that outlive the process which asked for them: a shell script asks, trains, and tells in another process.

Nothing can be concluded from the end of such a process, so its trials are not taken over until they are released. The
files of a trial are copied when its reading is told, as an executor does it after a step: so a trial that was released
continues from the last reading that was told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoestring.core.events import Granted
from shoestring.core.grants import Grant
from shoestring.core.history import TrialRecord
from shoestring.core.journal import Journal
from shoestring.errors import ReadingError
from shoestring.objectives.trial_files import files_of
from shoestring.running.retention import recommended_steps
from shoestring.spaces.codec import deep_copy


class Detached:
    """A study whose trials are asked for in one process and told in another."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._files = journal.files()

    def ask(self) -> Grant | None:
        """The next grant: a trial that was released, or what the method decides."""
        with self._journal.lock:
            self._journal.hold_detached()
            return self._release() or self._decide()

    def _release(self) -> Grant | None:
        for trial in self._journal.trials_of_gone_workers():
            if self._journal.adopt(trial.index, start := self._start(trial)):
                return self._hand_out(trial, start, "released, and given out again")
        return None

    def _decide(self) -> Grant | None:
        while isinstance(answer := self._journal.grant(), Granted):
            trial = self._journal.history.trials[answer.trial]
            start = self._start(trial)
            if start == trial.step or self._journal.adopt(trial.index, start):
                return self._hand_out(trial, start, answer.reason)
        return None

    def _start(self, trial: TrialRecord) -> int:
        """The step to continue a trial from: its last reading, unless an executor left an older checkpoint of it."""
        return files_of(self._files, trial.index).newest(trial.step) or trial.step

    def _hand_out(self, trial: TrialRecord, start: int, reason: str) -> Grant:
        files = files_of(self._files, trial.index, trial.holders)
        if start == 0 or files.newest(start) == start:
            files.restore(start)
        return _grant(trial, start, reason)

    def grant_of(self, trial: int) -> Grant:
        """The grant of a running trial, whichever process asked for it."""
        self._journal.sync()
        record = self._journal.running_trial(trial)
        return _grant(record, record.step, record.reason)

    def folder(self, trial: int) -> Path:
        """The folder in which a running trial has its files."""
        return files_of(self._files, trial, self._journal.running_trial(trial).holders).work()

    def save(self, grant: Grant, readings: Mapping[int, object]) -> None:
        """Copy the files of a trial, as the state after the last step that is told."""
        if not readings:
            raise ReadingError(f"nothing is told of trial {grant.trial}: give a value")
        files = files_of(self._files, grant.trial, self._journal.running_trial(grant.trial).holders)
        if not files.is_empty():
            files.used = True
            files.snapshot(max(readings))

    def tidy(self, trial: int) -> None:
        """Delete the copies that are not needed any more, now that the reading is in the log."""
        record = self._journal.history.trials[trial]
        files = files_of(self._files, trial, record.holders)
        wanted = recommended_steps(self._journal.history, record)
        files.prune(record.step, wanted, ended=record.state not in ("running", "paused"))


def _grant(trial: TrialRecord, start: int, reason: str) -> Grant:
    return Grant(trial.index, deep_copy(trial.config), trial.seed, start, trial.until, reason)
