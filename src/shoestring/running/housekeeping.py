"""Renaming and deleting a stored study, with its files.

The checksums of a study are chained to its name, so a new name means new checksums for all of its events. Both change
the whole log at once, and nothing is changed while a trial of the study runs. The folder of its files is moved in the
same transaction. A process that still has the study open finds events that it does not know, and says so.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path

from shoestring.core.event_log import EventLog, ManagesStudies, check_name, find_study
from shoestring.core.heartbeats import worker_records
from shoestring.core.history import History
from shoestring.core.journal import Journal
from shoestring.core.workers import DETACHED
from shoestring.errors import Conflict, MethodError, StorageError
from shoestring.methods.opening import rebuild_method
from shoestring.objectives.folders import refuse_link, remove_quietly


class HasHousekeeping:
    """The part of a study that renames and deletes it."""

    _journal: Journal

    def rename(self, name: str) -> None:
        """Give the stored study another name, with its files; refused while a trial of it runs.

        >>> import shoestring as ss
        >>> study = ss.Study({"x": (0.0, 1.0)}, budget="2 evaluations", name="first", storage=ss.logs.MemoryLog())
        >>> study.rename("second")
        >>> study.name
        'second'
        """
        log = self._journal.log
        rename_study(log, self._journal.name, name)
        number, name = find_study(log, log, name)
        self._journal = Journal(log, number, name, None, find_method=rebuild_method, follow=True)

    def delete(self) -> None:
        """Delete the stored study, its events and its files, for good; refused while a trial of it runs."""
        delete_study(self._journal.log, self._journal.name)


def rename_study(log: EventLog, name: str, new: str) -> None:
    """Give a stored study another name."""
    check_name(new)
    if log.find(new) is not None:
        raise MethodError(f"there is a study {new!r} already; choose another name, or rename that one first")
    manager, number, position = _idle(log, name)
    old_folder, new_folder = log.directory() / name, log.directory() / new
    if new_folder.exists() or new_folder.is_symlink():
        raise StorageError(
            f"the folder {new_folder} is there already, and would be that of the renamed study: move it away"
        )
    _moving(old_folder, new_folder, partial(manager.rename, number, new, position))


def delete_study(log: EventLog, name: str) -> None:
    """Delete a stored study with its events and its files, for good."""
    manager, number, position = _idle(log, name)
    folder = log.directory() / name
    waste = log.directory() / f".deleted-{secrets.token_hex(8)}"
    _moving(folder, waste, partial(manager.remove, number, position))
    remove_quietly(waste)


def _moving(old: Path, new: Path, change: Callable[[Callable[[], None]], None]) -> None:
    """Change the log and move a folder: both or none."""
    moved = False

    def move() -> None:
        nonlocal moved
        refuse_link(old)
        if old.is_dir() and not moved:
            old.rename(new)
            moved = True

    try:
        change(move)
    except BaseException as error:
        if moved:
            new.rename(old)
        if isinstance(error, Conflict):
            raise StorageError("the study changed at this moment, so nothing was done; try it again") from None
        if isinstance(error, OSError):
            raise StorageError(f"the folder {old} cannot be moved: {error.strerror}; nothing was done") from None
        raise


def _idle(log: EventLog, name: str) -> tuple[ManagesStudies, int, int]:
    """The log, the number of a study and how many events it has; refused while a trial of it runs."""
    if not isinstance(log, ManagesStudies):
        raise MethodError(f"{log!r} cannot rename or delete studies: it has no methods rename and remove")
    number, _ = find_study(log, log, name)
    history = History()
    for event in log.read(number, 0):
        history.restore(event)
    held = [w for w in worker_records(log, number, history) if w.trials and w.state in ("alive", DETACHED)]
    if held:
        trials = ", ".join(str(trial) for worker in held for trial in worker.trials)
        raise MethodError(
            f"trials of {name!r} are running ({trials}); stop the study first (study.stop()), or release them "
            "(shoestring release)"
        )
    return log, number, history.position
