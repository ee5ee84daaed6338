"""Copying files without using more of the disk than needed, and telling the disk's failures from the objective's."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoestring.errors import StorageError

try:
    from fcntl import ioctl
except ImportError:  # Windows
    ioctl = None  # type: ignore[assignment]

# No room, no quota, read-only, broken: no configuration is the cause, and the next trial would fail in the same way.
_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
# Linux: share the content of a file until one of the two is changed (btrfs, XFS, bcachefs).
_FICLONE = 0x40049409


def disk_fault(error: BaseException) -> OSError | None:
    """The failure of a disk behind an exception, if that is its cause."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in _FAULTS:
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def stopping(fault: OSError, what: str) -> StorageError:
    """The error that stops a run because of the disk."""
    place = f" ({fault.filename})" if fault.filename else ""
    return StorageError(
        f"{what}: {fault.strerror}{place}. Nothing was charged for this step. Make room, or make the disk writable, "
        "and run it again: the study continues"
    )


@contextmanager
def own_files(what: str) -> Iterator[None]:
    """Failures of the disk while we copy files stop the run; other errors are left as they are."""
    try:
        yield
    except OSError as error:
        if (fault := disk_fault(error)) is not None:
            raise stopping(fault, what) from error
        raise


def copy_folder(source: Path, target: Path) -> None:
    """Copy files and folders; links stay links, and sockets and pipes are left out."""

    def special(folder: str, names: list[str]) -> list[str]:
        modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
        return [n for n, m in modes.items() if not (stat.S_ISREG(m) or stat.S_ISDIR(m) or stat.S_ISLNK(m))]

    shutil.copytree(source, target, symlinks=True, ignore=special, copy_function=_copy_file)


def pack(folder: Path) -> bytes:
    """The files of a folder as bytes that can be sent to another machine."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Write packed files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="tar")


def _copy_file(source: str, target: str) -> None:
    """Copy a file, without a second copy of its content where the file system can share it."""
    with own_files("the files of a trial cannot be copied"):  # at once: copytree would go on with the next file
        if not _shared(source, target):
            shutil.copyfile(source, target)
        shutil.copystat(source, target)


def _shared(source: str, target: str) -> bool:
    """Whether the file system made the target a clone. A hard link would not do: an objective may overwrite a file."""
    if ioctl is None:
        return False
    with open(source, "rb") as original, open(target, "wb") as clone:
        try:
            ioctl(clone.fileno(), _FICLONE, original.fileno())
        except OSError:
            return False
    return True


def disk_use(folder: Path) -> int:
    """The bytes that the files of a folder take on the disk, each file counted once."""
    sizes: dict[tuple[int, int], int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(place, name))
            except OSError:  # deleted meanwhile
                continue
            sizes[found.st_dev, found.st_ino] = getattr(found, "st_blocks", -(-found.st_size // 512)) * 512
    return sum(sizes.values())
