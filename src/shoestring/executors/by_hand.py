"""Grants that outlive the process which asked for them: a shell script asks, trains, and tells in another process.

Nothing can be concluded from the end of such a process, so its trials are never taken over unless somebody releases
them. The files of a trial are copied when its reading is told, as an executor does it after a step: so a trial that was
released continues from the last reading that was told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoestring.core.events import Granted
from shoestring.core.grants import Grant
from shoestring.core.history import TrialRecord
from shoestring.core.journal import Journal
from shoestring.errors import ReadingError
from shoestring.executors.checkpoints import files_of
from shoestring.spaces.codec import copied


def ask(journal: Journal) -> Grant | None:
    """The next grant, which nobody takes over: a trial that was released, or what the method decides."""
    journal.hold_by_hand()
    for trial in journal.orphans():
        if journal.adopt(trial.index, start := _start(journal, trial)):
            return _handed_out(journal, trial, start, "released by whoever had it, and given out again")
    while isinstance(answer := journal.grant(), Granted):
        trial = journal.history.trials[answer.trial]
        start = _start(journal, trial)
        if start == trial.step or journal.adopt(trial.index, start):
            return _handed_out(journal, trial, start, answer.reason)
    return None


def _start(journal: Journal, trial: TrialRecord) -> int:
    """From which step a trial can continue: its last reading, unless an executor left an older checkpoint of it."""
    return files_of(journal.files(), trial.index).newest(trial.step) or trial.step


def _handed_out(journal: Journal, trial: TrialRecord, start: int, reason: str) -> Grant:
    files = files_of(journal.files(), trial.index, trial.holders)
    if start == 0 or files.newest(start) == start:
        files.restore(start)
    return _grant(trial, start, reason)


def _grant(trial: TrialRecord, start: int, reason: str) -> Grant:
    return Grant(trial.index, copied(trial.config), trial.seed, start, trial.until, reason)


def asked(journal: Journal, trial: int) -> Grant:
    """The grant of a running trial, whichever process asked for it."""
    journal.sync()
    record = journal.running(trial)
    return _grant(record, record.step, record.reason)


def folder(journal: Journal, trial: int) -> Path:
    """Where a trial that is running has its files."""
    return files_of(journal.files(), trial, journal.running(trial).holders).work()


def save(journal: Journal, grant: Grant, readings: Mapping[int, object]) -> None:
    """Copy the files of a trial, as the state after the last step that is told."""
    if not readings:
        raise ReadingError(f"nothing is told of trial {grant.trial}: give a value")
    files = files_of(journal.files(), grant.trial, journal.running(grant.trial).holders)
    if not files.is_empty():
        files.used = True
        files.snapshot(max(readings))


def tidy(journal: Journal, trial: int) -> None:
    """Delete the copies that are not needed any more, now that the reading is in the log."""
    record = journal.history.trials[trial]
    recommended = record.recommended.step if record.recommended else 0
    files = files_of(journal.files(), trial, record.holders)
    files.prune(record.step, recommended, ended=record.state not in ("running", "paused"))
