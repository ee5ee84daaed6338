"""The files of a trial, kept in step with the log.

An objective writes into ``work`` and then yields; its reading reaches the log a moment later. A process killed in
between would leave files that are one step ahead of the log. So the files that changed are copied to ``step-N``
before the reading is reported. To resume a trial, the newest snapshot at or before the last logged step is copied back
into ``work``: exactly the state that the log describes. A trial without snapshots starts over.

A process that stopped answering, and whose trial another one took over, may wake up and write on. So each worker that
takes a trial over has a folder ``work`` of its own, with a number that follows from the log.

Executors only add snapshots. The driver, which knows the log, deletes those that are no longer needed: once a reading
is logged, the trial keeps two snapshots: of that step, to be resumed from, and of its recommended step. A trial that
no process has in memory needs no ``work`` next to the snapshot of its last step (``settle``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from shoestring.core.front import FrontMember
from shoestring.core.history import TrialRecord
from shoestring.core.recommendation import Best
from shoestring.errors import ReadingError, StorageError
from shoestring.objectives.disk import own_files
from shoestring.objectives.folders import (
    copy_folder,
    entries,
    fingerprint,
    is_folder,
    refuse_link,
    remove,
    remove_quietly,
    unpack,
)

_PREFIX = "step-"
# The folder of what people look at, in that of a trial's files; it outlives them.
SHOW = "show"


class TrialFiles:
    """The folder of one trial. Most trials write no files, so checking for them must cost next to nothing.

    Links in the place of the study's folder, the trial's, ``work`` or a snapshot are never followed.
    """

    def __init__(self, root: str, holders: int = 0) -> None:
        self._place = root
        self._own = f"-{holders}" if holders else ""
        self.used = False  # as far as is known here; another process may have written files
        self.being_written = False  # by another process: a snapshot would hold half a file
        self._fingerprint: object = None

    @cached_property
    def _root(self) -> Path:
        return Path(self._place)

    @property
    def study_folder(self) -> Path:
        return self._root.parent

    @cached_property
    def _work(self) -> Path:
        return self._root / f"work{self._own}"

    def work(self) -> Path:
        self._refuse_links()
        with own_files("the folder of a trial cannot be created"):
            self._work.mkdir(parents=True, exist_ok=True)
        self.used = True
        return self._work

    def _refuse_links(self) -> None:
        """Refuse to work in a folder that is somewhere else: of the study, of the trial, or ``work``."""
        for folder in (self._root.parent, self._root, self._work):
            refuse_link(folder)

    def snapshot(self, step: int) -> None:
        """Copy the files, if they changed, as the state after this step."""
        if not self.used or self.being_written:
            return
        self._refuse_links()
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
        self._refuse_links()
        remove_quietly(partial)
        try:
            with own_files("the files of a trial cannot be copied"):
                fill(partial)
                remove(target)
                partial.rename(target)
        except (OSError, StorageError):
            remove_quietly(partial)  # it takes room that may be missing
            raise

    def snapshot_of(self, step: int) -> Path:
        return self._root / f"{_PREFIX}{step}"

    def newest(self, step: int) -> int:
        """The step of the newest snapshot at or before this one; 0 if there is none."""
        return _newest(self._snapshots(), step)

    def is_empty(self) -> bool:
        """Return whether ``work`` has no files."""
        return not fingerprint(self._work)

    def restore(self, step: int) -> None:
        """Restore ``work`` as it was after this step, empty for step 0; later files are deleted."""
        if not os.path.lexists(self._place):
            return
        with own_files("the files of a trial cannot be restored"):
            self.rewind(step)
            if step:
                copy_folder(self.snapshot_of(step), self._work)
                self.used = True
        self._fingerprint = fingerprint(self._work)

    def rewind(self, step: int) -> None:
        """Delete what came after this step, and every ``work``; everything for step 0."""
        for folder in (self._root.parent, self._root):
            refuse_link(folder)
        if step:
            self._delete_work()
            self._delete(later for later in self._snapshots() if later > step)
        else:
            # It may be left over from another study of the same name. A worker that lost the trial may still write.
            remove_quietly(self._root)
            if self._snapshots() or not self.is_empty():
                remove(self._root)

    def _delete_work(self) -> None:
        """Delete every ``work``, including the folders of workers that had the trial before."""
        for folder in self._root.glob("work*"):
            remove_quietly(folder)

    def prune(self, known: int, recommended: Iterable[int], ended: bool = False) -> None:
        """Delete the snapshots that are not needed, now that the reading of step ``known`` is in the log.

        It keeps the snapshots to resume from and of the recommended steps, and, unless the trial ended, any whose
        reading is not in the log yet.
        """
        found = self._snapshots()
        if len(found) > 1 or ended:
            needed = {_newest(found, step) for step in (known, *recommended)}
            self._delete(step for step in found if step not in needed and (ended or step <= known))

    def drop_unlogged(self, step: int) -> None:
        """Delete what the step after this one wrote before it failed, if there is a snapshot from before."""
        if self.newest(step):
            self._delete_work()

    def abandon(self) -> None:
        """Delete the ``work`` of a worker that does not have the trial any more."""
        if self.exist():
            remove_quietly(self._work)

    def settle(self, step: int) -> None:
        """Delete ``work`` if the snapshot that the trial would be resumed from has the same files."""
        kept = self.newest(step)
        with suppress(OSError):  # another process may be deleting snapshots at this moment
            if kept and is_folder(self._work) and fingerprint(self._work) == fingerprint(self.snapshot_of(kept)):
                remove(self._work)

    def latest(self, step: int) -> Path:
        """Return where the files of a trial that reached this step are, for reading."""
        kept = self.newest(step)
        if kept and self.is_empty():
            return self.snapshot_of(kept)
        self._refuse_links()
        return self._work

    def exist(self) -> bool:
        """Return whether the trial has a folder that is not behind a link."""
        return is_folder(self._place) and is_folder(self._root.parent)

    def files_to_show(self, step: int) -> Path:
        """Return where the files for people to look at are, of a trial that reached this step."""
        kept = self._root / SHOW
        return kept if is_folder(kept) else self.latest(step) / SHOW

    def delete(self, step: int) -> None:
        """Delete the files of a trial that reached this step, but for those that are for people to look at."""
        if not self.exist():
            return
        kept, show = self._root / SHOW, self.latest(step) / SHOW
        if is_folder(show) and not is_folder(kept):
            with suppress(OSError):
                show.rename(kept)
        if not is_folder(kept):
            remove_quietly(self._root)
            return
        for name in os.listdir(self._root):
            if name != SHOW:
                remove_quietly(self._root / name)

    def _delete(self, steps: Iterable[int]) -> None:
        """Delete snapshots. They are renamed first: a process that is killed leaves none that has lost some files."""
        deleted = self._root / "deleted"
        for step in steps:
            remove_quietly(deleted)
            with suppress(OSError):  # one that cannot be deleted now is tried again after the next reading
                self.snapshot_of(step).rename(deleted)
            remove_quietly(deleted)

    def _snapshots(self) -> list[int]:
        try:
            names = os.listdir(self._place) if self.exist() else []
        except OSError:
            return []
        steps = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        numbers = [int(step) for step in steps if step.isascii() and step.isdigit()]
        return [step for step in numbers if is_folder(f"{self._place}/{_PREFIX}{step}")]


def _newest(snapshots: list[int], step: int) -> int:
    return max((kept for kept in snapshots if kept <= step), default=0)


def files_of(directory: Path | str, trial: int, holders: int = 0) -> TrialFiles:
    """The files of a trial, as the worker that holds it sees them."""
    return TrialFiles(f"{directory}/trial-{trial}", holders)


def steps_without_checkpoint(directory: Path | str, trials: Iterable[TrialRecord]) -> int:
    """Return how many logged steps are run again at most if the unfinished trials continue in another process."""
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
        return files.work()  # for trials that were told too, whose files the user writes
    found = files.latest(record.step)
    return found if is_folder(found) else files.work()


def list_files_to_show(directory: Path | str, trial: TrialRecord) -> list[Path]:
    """The files that a trial has left for people to look at, sorted."""
    folder = files_of(directory, trial.index, trial.holders).files_to_show(trial.step)
    return [folder / name for name, found in entries(folder) if stat.S_ISREG(found.st_mode)]


def best_folder(directory: Path | str, best: Best | FrontMember, trials: Sequence[TrialRecord]) -> Path:
    """The folder with the checkpoint of what a study recommends."""
    trial = trials[best.trial]
    found = checkpoint_of(directory, trial, best.step)
    if found is None:
        raise ReadingError(
            f"trial {best.trial} has no files of the steps up to step {best.step}: save a checkpoint into "
            "trial.directory after each step, keep the files of more trials if this one became the best after it "
            f"ended (keep=...), or train its configuration again with seed {trial.seed} to that step"
        )
    return found
