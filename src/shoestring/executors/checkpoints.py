"""The files of a trial, kept in step with the log.

An objective writes into ``work`` and then yields; its reading reaches the log a moment later. A process killed in
between would leave files that are one step ahead of the log. So the files that changed are copied to ``step-N``
before the reading is reported. To resume a trial, the newest snapshot at or before the last logged step is copied back
into ``work``: exactly the state that the log describes. A trial without snapshots starts over.

Executors only add snapshots. The driver, which knows the log, deletes those that are no longer needed: once a reading
is logged, the trial keeps the snapshot of that step, to be resumed from, and that of its recommended step.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from os.path import isdir
from pathlib import Path

from shoestring.core.history import TrialRecord

_PREFIX = "step-"


class TrialFiles:
    """The folder of one trial. Most trials write no files, so checking for them must cost next to nothing."""

    def __init__(self, root: str) -> None:
        self._place = root
        self.used = False  # as far as is known here; another process may have written files
        self._fingerprint: object = None

    @cached_property
    def _root(self) -> Path:
        return Path(self._place)

    def work(self) -> Path:
        path = self._root / "work"
        path.mkdir(parents=True, exist_ok=True)
        self.used = True
        return path

    def snapshot(self, step: int) -> None:
        """Copy the files, if they changed, as the state after this step."""
        if not self.used:
            return
        fingerprint = _fingerprint(self._root / "work")
        if fingerprint == self._fingerprint or not fingerprint:
            return
        partial, target = self._root / "partial", self.snapshot_of(step)
        shutil.rmtree(partial, ignore_errors=True)
        _copy(self._root / "work", partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
        self._fingerprint = fingerprint

    def snapshot_of(self, step: int) -> Path:
        return self._root / f"{_PREFIX}{step}"

    def newest(self, step: int) -> int:
        """The step of the newest snapshot at or before this one; 0 if there is none."""
        return _newest(self._snapshots(), step)

    def is_empty(self) -> bool:
        """Whether ``work`` has no files."""
        return not _fingerprint(self._root / "work")

    def restore(self, step: int) -> None:
        """Make ``work`` what it was after this step, empty for step 0; what came after it is deleted."""
        if not isdir(self._place):
            return
        if step:
            shutil.rmtree(self._root / "work", ignore_errors=True)
            _copy(self.snapshot_of(step), self._root / "work")
            self.used = True
            self._delete(later for later in self._snapshots() if later > step)
        else:
            shutil.rmtree(self._root)  # it may be left over from another study of the same name
        self._fingerprint = _fingerprint(self._root / "work")

    def prune(self, known: int, recommended: int) -> None:
        """Delete the snapshots of a trial that goes on, now that the reading of step ``known`` is in the log.

        Kept are the one to resume from, the one of the recommended step, and any whose reading is not in the log yet.
        """
        found = self._snapshots()
        if len(found) > 1:
            needed = {_newest(found, known), _newest(found, recommended)}
            self._delete(step for step in found if step <= known and step not in needed)

    def prune_ended(self, recommended: int | None) -> None:
        """Delete the snapshots of a trial that ended, but for that of the recommended step, if there is one."""
        found = self._snapshots()
        needed = _newest(found, recommended or 0)
        self._delete(step for step in found if step != needed)

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
        return [int(step) for step in steps if step.isdigit()]


def _newest(snapshots: list[int], step: int) -> int:
    return max((kept for kept in snapshots if kept <= step), default=0)


def files_of(directory: Path | str, trial: int) -> TrialFiles:
    return TrialFiles(f"{directory}/trial-{trial}")


def checkpoint_of(directory: Path | str, trial: TrialRecord, step: int) -> Path | None:
    """The folder with what a trial had written after a step, to be read only; None if it had written nothing.

    That is a snapshot, or ``work`` if the trial ended with this step. One that failed has the files of its last step in
    ``work`` only if there was a snapshot to restore them from.
    """
    files = files_of(directory, trial.index)
    kept = files.newest(step)
    restored = kept > 0 and trial.state not in ("running", "paused")
    if kept < step == trial.step and (trial.state == "finished" or restored) and not files.is_empty():
        return files.work()
    return files.snapshot_of(kept) if kept else None


def _fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files in a folder: a change shows without reading them."""
    if not folder.exists():
        return ()
    found = ((path.relative_to(folder).as_posix(), path.lstat()) for path in sorted(folder.rglob("*")))
    return tuple(
        (name, s.st_size, s.st_mtime_ns) for name, s in found if stat.S_ISREG(s.st_mode) or stat.S_ISLNK(s.st_mode)
    )


def _copy(source: Path, target: Path) -> None:
    """Copy files and folders; links stay links, and sockets and pipes are left out."""

    def special(folder: str, names: list[str]) -> list[str]:
        modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
        return [n for n, m in modes.items() if not (stat.S_ISREG(m) or stat.S_ISDIR(m) or stat.S_ISLNK(m))]

    shutil.copytree(source, target, symlinks=True, ignore=special)
