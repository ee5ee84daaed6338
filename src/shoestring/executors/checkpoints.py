"""The files of a trial, kept in step with the log.

An objective writes into ``work`` and then yields; its reading reaches the log a moment later. A process killed in
between would leave files that are one step ahead of the log. So the files that changed are copied to ``step-N``
before the reading is reported, and an older snapshot is deleted only when the newer reading is known to be logged.
To resume a trial, the newest snapshot at or before the last logged step is copied back into ``work``: exactly the
state that the log describes. A trial without snapshots starts over.
"""

from __future__ import annotations

import shutil
import stat
from functools import cached_property
from os.path import isdir
from pathlib import Path

_PREFIX = "step-"


class TrialFiles:
    """The folder of one trial. Most trials write no files, so checking for them must cost next to nothing."""

    def __init__(self, root: str) -> None:
        self._place = root
        self.used = False  # as far as is known here; another process may have written files
        self._fingerprint: object = None
        self._kept: int | None = None

    @cached_property
    def _root(self) -> Path:
        return Path(self._place)

    def work(self) -> Path:
        path = self._root / "work"
        path.mkdir(parents=True, exist_ok=True)
        self.used = True
        return path

    def snapshot(self, step: int) -> None:
        """Copy the files, if they changed, as the state after this step. The reading before it is in the log by now."""
        if not self.used:
            return
        fingerprint = _fingerprint(self._root / "work")
        if fingerprint == self._fingerprint or not fingerprint:
            return
        partial, target = self._root / "partial", self._root / f"{_PREFIX}{step}"
        shutil.rmtree(partial, ignore_errors=True)
        _copy(self._root / "work", partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
        self.drop_snapshots(step, self._kept)
        self._fingerprint, self._kept = fingerprint, step

    def newest(self, step: int) -> int:
        """The step of the newest snapshot at or before this one; 0 if there is none."""
        return max((kept for kept in self._snapshots() if kept <= step), default=0)

    def restore(self, step: int) -> None:
        """Make ``work`` what it was after this step; empty for step 0."""
        if not isdir(self._place):
            return
        if step:
            shutil.rmtree(self._root / "work", ignore_errors=True)
            _copy(self._root / f"{_PREFIX}{step}", self._root / "work")
            self.used = True
        else:
            shutil.rmtree(self._root)  # it may be left over from another study of the same name
        self._fingerprint, self._kept = _fingerprint(self._root / "work"), step or None

    def drop_snapshots(self, *spared: int | None) -> None:
        """Delete the snapshots of all but some steps; ``work`` stays."""
        for step in self._snapshots():
            if step not in spared:
                shutil.rmtree(self._root / f"{_PREFIX}{step}", ignore_errors=True)

    def _snapshots(self) -> list[int]:
        if not isdir(self._place):
            return []
        names = (path.name.removeprefix(_PREFIX) for path in self._root.glob(f"{_PREFIX}*"))
        return [int(name) for name in names if name.isdigit()]


def files_of(directory: Path | str, trial: int) -> TrialFiles:
    return TrialFiles(f"{directory}/trial-{trial}")


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
