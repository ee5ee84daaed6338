"""Distinguish failures of a trial's storage from failures of the objective."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoestring.errors import StorageError

# No room, no quota, read-only, broken: no configuration is the cause, and the next trial would fail in the same way.
_ANYWHERE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}
# Errors of a mounted folder that was removed, is locked or has no handles left. An objective may meet these elsewhere,
# in its data or on the network; they are faults of the storage if they name a file in its folder.
_NAMES = "ESTALE ETIMEDOUT EREMOTEIO EMFILE ENFILE EACCES EPERM ENOTDIR ENODEV ENXIO ENOTCONN EHOSTDOWN ENOLCK ELOOP"
_IN_STORAGE = {getattr(errno, name) for name in _NAMES.split() if hasattr(errno, name)}

# Bytes that must fit on a disk that is not full.
_PROBE = 1 << 20


def disk_fault(error: BaseException, folder: Path | str | None = None) -> OSError | None:
    """The failure of a storage behind an exception, if that is its cause; ``folder`` is where its trials have files."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and (seen.errno in _ANYWHERE or _is_in(folder, seen)):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _is_in(folder: Path | str | None, error: OSError) -> bool:
    if folder is None or error.errno not in _IN_STORAGE:
        return False
    text = str(error)  # with the names of its files; some libraries have them only in the message
    return str(folder) in text or os.path.abspath(folder) in text or os.path.realpath(folder) in text


def unwritable(folder: Path | str) -> OSError | None:
    """Return why nothing can be written to a folder now; None if it can be written, or is not there.

    PyTorch, XGBoost, LightGBM and commands write files by themselves, and fail with errors that do not say what the
    system said.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE))
    except OSError as error:
        return error if error.errno in _ANYWHERE | _IN_STORAGE else None
    return None


def stopping(fault: OSError, what: str) -> StorageError:
    """The error that stops a run because of its storage."""
    place = f" ({fault.filename})" if fault.filename else ""
    return StorageError(
        f"{what}: {fault.strerror}{place}. Nothing was charged for this step. Make the folder writable, with room in "
        "it, and run it again: the study continues"
    )


@contextmanager
def own_files(what: str) -> Iterator[None]:
    """Turn failures of the storage while we handle files of a trial into the end of the run; pass on other errors."""
    try:
        yield
    except OSError as error:
        if error.errno in _ANYWHERE | _IN_STORAGE:
            raise stopping(error, what) from error
        raise
