"""The files of a trial, kept in step with the log.

An objective writes into ``work`` and then yields; its reading reaches the log a moment later. A process killed in
between would leave files that are one step ahead of the log. So the files that changed are copied to ``step-N``
before the reading is reported. To resume a trial, the newest snapshot at or before the last logged step is copied back
into ``work``: exactly the state that the log describes. A trial without snapshots starts over.

A process that stopped answering, and whose trial another one took over, may wake up and write on. So each worker that
takes a trial over has a folder ``work`` of its own, with a number that follows from the log.

Executors only add snapshots. The driver, which knows the log, deletes those that are no longer needed: once a reading
is logged, the trial keeps the snapshot of that step, to be resumed from, and that of its recommended step. A trial that
is in nobody's memory needs no ``work`` beside the snapshot of its last step (``settle``).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from os.path import isdir
from pathlib import Path

from shoestring.core.history import TrialRecord
from shoestring.core.recommendation import Best
from shoestring.errors import ReadingError, StorageError
from shoestring.executors.disk import copy_folder, own_files, unpack

_PREFIX = "step-"


class TrialFiles:
    """The folder of one trial. Most trials write no files, so checking for them must cost next to nothing."""

    def __init__(self, root: str, holders: int = 0) -> None:
        self._place = root
        self._own = f"-{holders}" if holders else ""
        self.used = False  # as far as is known here; another process may have written files
        self.unsaved = False  # somebody is writing them: a copy would be of something half done
        self._fingerprint: object = None

    @cached_property
    def _root(self) -> Path:
        return Path(self._place)

    @cached_property
    def _work(self) -> Path:
        return self._root / f"work{self._own}"

    def work(self) -> Path:
        path = self._work
        path.mkdir(parents=True, exist_ok=True)
        self.used = True
        return path

    def snapshot(self, step: int) -> None:
        """Copy the files, if they changed, as the state after this step."""
        if not self.used or self.unsaved:
            return
        state = fingerprint(self._work)
        if state == self._fingerprint or not state:
            return
        self._store(step, lambda folder: copy_folder(self._work, folder))
        self._fingerprint = state

    def add(self, step: int, archive: bytes) -> None:
        """Store a snapshot that was taken on another machine."""
        self._store(step, lambda folder: unpack(archive, folder))

    def _store(self, step: int, fill: Callable[[Path], None]) -> None:
        partial, target = self._root / f"partial{self._own}", self.snapshot_of(step)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            with own_files("the files of a trial cannot be copied"):
                fill(partial)
                _remove(target)
                partial.rename(target)
        except (OSError, StorageError):
            shutil.rmtree(partial, ignore_errors=True)  # it takes room that may be missing
            raise

    def snapshot_of(self, step: int) -> Path:
        return self._root / f"{_PREFIX}{step}"

    def newest(self, step: int) -> int:
        """The step of the newest snapshot at or before this one; 0 if there is none."""
        return _newest(self._snapshots(), step)

    def is_empty(self) -> bool:
        """Whether ``work`` has no files."""
        return not fingerprint(self._work)

    def restore(self, step: int) -> None:
        """Make ``work`` what it was after this step, empty for step 0; what came after it is deleted."""
        if not isdir(self._place):
            return
        self.rewind(step)
        if step:
            with own_files("the files of a trial cannot be restored"):
                copy_folder(self.snapshot_of(step), self._work)
            self.used = True
        self._fingerprint = fingerprint(self._work)

    def rewind(self, step: int) -> None:
        """Delete what came after this step, and every ``work``; everything for step 0."""
        if step:
            for folder in self._root.glob("work*"):  # also those of the workers that had it before
                shutil.rmtree(folder, ignore_errors=True)
            self._delete(later for later in self._snapshots() if later > step)
        else:
            # It may be left over from another study of the same name. A worker that lost the trial may still write.
            shutil.rmtree(self._root, ignore_errors=True)
            if self._snapshots() or not self.is_empty():
                shutil.rmtree(self._root)

    def prune(self, known: int, recommended: int, ended: bool = False) -> None:
        """Delete the snapshots that are not needed, now that the reading of step ``known`` is in the log.

        Kept are the one to resume from, the one of the recommended step, and, unless the trial ended, any whose
        reading is not in the log yet.
        """
        found = self._snapshots()
        if len(found) > 1 or ended:
            needed = {_newest(found, known), _newest(found, recommended)}
            self._delete(step for step in found if step not in needed and (ended or step <= known))

    def drop_unlogged(self, step: int) -> None:
        """Delete what the step after this one wrote before it failed, if there is a snapshot from before."""
        if self.newest(step):
            for folder in self._root.glob("work*"):
                shutil.rmtree(folder, ignore_errors=True)

    def abandon(self) -> None:
        """Delete the ``work`` of a worker that does not have the trial any more."""
        shutil.rmtree(self._work, ignore_errors=True)

    def settle(self, step: int) -> None:
        """Delete ``work`` if the snapshot that the trial would be resumed from has the same files."""
        kept = self.newest(step)
        with suppress(OSError):  # another process may be deleting snapshots at this moment
            if kept and self._work.exists() and fingerprint(self._work) == fingerprint(self.snapshot_of(kept)):
                shutil.rmtree(self._work)

    def latest(self, step: int) -> Path:
        """Where the files of a trial that reached this step are, for reading."""
        kept = self.newest(step)
        return self.snapshot_of(kept) if kept and self.is_empty() else self._work

    def exist(self) -> bool:
        return isdir(self._place)

    def delete(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def _delete(self, steps: Iterable[int]) -> None:
        """Delete snapshots. They are renamed first: a process that is killed leaves none that has lost some files."""
        deleted = self._root / "deleted"
        for step in steps:
            shutil.rmtree(deleted, ignore_errors=True)
            with suppress(OSError):  # one that cannot be deleted now is tried again after the next reading
                self.snapshot_of(step).rename(deleted)
            shutil.rmtree(deleted, ignore_errors=True)

    def _snapshots(self) -> list[int]:
        try:
            names = os.listdir(self._place)
        except OSError:
            return []
        steps = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        numbers = [int(step) for step in steps if step.isascii() and step.isdigit()]
        return [step for step in numbers if isdir(f"{self._place}/{_PREFIX}{step}")]


def _remove(path: Path) -> None:
    """Delete a folder, or a file that has its name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _newest(snapshots: list[int], step: int) -> int:
    return max((kept for kept in snapshots if kept <= step), default=0)


def files_of(directory: Path | str, trial: int, holders: int = 0) -> TrialFiles:
    """The files of a trial, as the worker that holds it sees them."""
    return TrialFiles(f"{directory}/trial-{trial}", holders)


def steps_without_checkpoint(directory: Path | str, trials: Iterable[TrialRecord]) -> int:
    """How many logged steps are run again at most if the trials that are not over continue in another process."""
    going_on = (trial for trial in trials if trial.state in ("running", "paused") and not trial.foreign)
    return sum(trial.step - files_of(directory, trial.index).newest(trial.step) for trial in going_on)


def checkpoint_of(directory: Path | str, trial: TrialRecord, step: int) -> Path | None:
    """The folder with what a trial had written after a step, to be read only; None if it had written nothing.

    That is a snapshot, or ``work`` if the trial finished with this step and wrote more since the last snapshot.
    """
    files = files_of(directory, trial.index, trial.holders)
    kept = files.newest(step)
    if kept < step == trial.step and trial.state == "finished" and not files.is_empty():
        return files.latest(0)
    return files.snapshot_of(kept) if kept else None


def folder_of(directory: Path | str, trial: int, trials: Sequence[TrialRecord]) -> Path:
    """The folder with a trial's files."""
    if not 0 <= trial < len(trials):
        raise ReadingError(f"there is no trial {trial}; the study has {len(trials)}, counted from 0")
    record = trials[trial]
    files = files_of(directory, trial, record.holders)
    if record.state in ("running", "paused") or not files.exist():
        return files.work()  # also of a trial that was told, whose files the user writes
    return files.latest(record.step)


def best_folder(directory: Path | str, best: Best, trials: Sequence[TrialRecord]) -> Path:
    """The folder with the checkpoint of what a study recommends."""
    trial = trials[best.trial]
    found = checkpoint_of(directory, trial, best.step)
    if found is None:
        raise ReadingError(
            f"trial {best.trial} has no files of the steps up to step {best.step}: save a checkpoint into "
            "trial.directory after each step, keep the files of more trials if this one became the best after it "
            f"ended (keep=...), or train study.best.config again with seed {trial.seed} to that step"
        )
    return found


def fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files in a folder: a change shows without reading them."""
    if not folder.exists():
        return ()
    found = ((path.relative_to(folder).as_posix(), path.lstat()) for path in sorted(folder.rglob("*")))
    return tuple(
        (name, s.st_size, s.st_mtime_ns) for name, s in found if stat.S_ISREG(s.st_mode) or stat.S_ISLNK(s.st_mode)
    )
