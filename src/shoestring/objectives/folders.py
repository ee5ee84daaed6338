"""Folders of a trial: read, copied, packed and deleted without following symbolic links.

A storage may come from elsewhere, with links in it that lead out of it. A link that stays inside the folder that is
copied, such as one to the newest checkpoint, is copied as a link; any other is left out. Another thread or process may
write while a folder is copied: if a file vanishes, the copy is repeated, and in the end made without it.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from shoestring.errors import StorageError

try:
    from fcntl import ioctl
except ImportError:  # Windows
    ioctl = None  # type: ignore[assignment]

_logger = logging.getLogger("shoestring")

# How often a folder is copied if files vanish from it meanwhile.
_ATTEMPTS = 5
# Linux: share the content of a file until one of the two is changed (btrfs, XFS, bcachefs).
_FICLONE = 0x40049409
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_HAS_HANDLES = os.open in os.supports_dir_fd


def is_folder(path: Path | str) -> bool:
    """Return whether a folder is there, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def refuse_link(path: Path) -> None:
    """Refuse a link in the place of a folder of ours."""
    if path.is_symlink():
        raise StorageError(
            f"{path} is a symbolic link; links below the folder of a storage are not followed, because they may lead "
            "anywhere. Put the folder itself there, or make the folder of the whole storage the link"
        )


def entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """List the contents of a folder and its subfolders, sorted: relative names and status. No link is followed."""
    for place, folders, names in os.walk(folder) if is_folder(folder) else ():
        folders.sort()
        inside = Path(place).relative_to(folder)
        for name in sorted([*folders, *names]):
            with suppress(FileNotFoundError):
                yield (inside / name).as_posix(), os.lstat(os.path.join(place, name))


def fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files in a folder: a change shows without reading them."""
    return tuple(
        (name, found.st_size, found.st_mtime_ns)
        for name, found in entries(folder)
        if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)
    )


def copy_folder(source: Path, target: Path) -> None:
    """Copy files, folders, and links that stay inside; sockets, pipes and other links are left out."""
    for attempt in range(_ATTEMPTS):
        if _copy_whole(source, target) or attempt == _ATTEMPTS - 1:
            return
        remove(target)


def _copy_whole(source: Path, target: Path) -> bool:
    """Copy a folder; whether no file vanished meanwhile."""
    target.mkdir(parents=True)
    whole = True
    for name, found in entries(source):
        try:
            _copy_entry(source, target, name, found)
        except FileNotFoundError:
            if os.path.lexists(source / name) or not target.is_dir():
                raise
            whole = False
            (target / name).unlink(missing_ok=True)
    return whole


def _copy_entry(source: Path, target: Path, name: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        (target / name).mkdir(exist_ok=True)
    elif stat.S_ISREG(found.st_mode):
        (target / name).parent.mkdir(exist_ok=True)
        _copy_file(source / name, target / name)
    elif stat.S_ISLNK(found.st_mode) and (inside := _link_inside(source, name)):
        os.symlink(inside, target / name)


def _link_inside(folder: Path, name: str) -> str:
    """Return where a link leads that stays inside a folder; empty if it leads out, or may."""
    leads = PurePosixPath(os.readlink(folder / name))
    parts = leads.parts
    up = next((i for i, part in enumerate(parts) if part != ".."), len(parts))
    stays = not leads.is_absolute() and ".." not in parts[up:] and up < len(PurePosixPath(name).parts)
    if not stays:
        _logger.warning("the link %s leads out of the folder of its trial to %s and is left out", folder / name, leads)
    return str(leads) if stays else ""


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file, without a second copy of its content where the file system can share it."""
    with open_file(source) as original, target.open("wb") as copy:
        if not _try_clone(original, copy):
            shutil.copyfileobj(original, copy, 1 << 20)
        found = os.fstat(original.fileno())
    os.chmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _try_clone(original: BinaryIO, clone: BinaryIO) -> bool:
    """Return whether the file system made the second a clone. A hard link would not do: an objective may overwrite a
    file.
    """
    if ioctl is None:
        return False
    try:
        ioctl(clone.fileno(), _FICLONE, original.fileno())
    except OSError:
        return False
    return True


def open_file(path: Path, below: Path | None = None) -> BinaryIO:
    """Open a regular file for reading, without following a link at ``path``, nor between ``below`` and it."""
    parts = path.relative_to(below).parts if below else (path.name,)
    handle = _open_below(below or path.parent, parts)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(f"{path} is not a regular file")
    return open(handle, "rb")


def _open_below(folder: Path, parts: tuple[str, ...]) -> int:
    """Open a file below a folder by a handle of each folder on the way; where there are none, each is checked."""
    if ".." in parts:
        raise FileNotFoundError(f"{folder.joinpath(*parts)} is not below {folder}")
    if not _HAS_HANDLES:
        on_the_way = [folder.joinpath(*parts[: n + 1]) for n in range(len(parts))]
        if any(map(os.path.islink, on_the_way)):
            raise FileNotFoundError(f"{on_the_way[-1]} is behind a link")
        return os.open(on_the_way[-1], os.O_RDONLY | _NO_FOLLOW)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for number, part in enumerate(parts):
        kind = os.O_DIRECTORY if number < len(parts) - 1 else 0
        try:
            inner = os.open(part, os.O_RDONLY | _NO_FOLLOW | kind, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def remove(path: Path) -> None:
    """Delete a folder, or the link or file that has its name; not where a link leads."""
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_quietly(path: Path) -> None:
    """Delete a folder as far as that is possible now."""
    if is_folder(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def pack(folder: Path) -> bytes:
    """The files of a folder as bytes that can be sent to another machine."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, found in entries(folder):
            if not stat.S_ISLNK(found.st_mode) or _link_inside(folder, name):
                with suppress(FileNotFoundError):  # deleted meanwhile
                    archive.add(folder / name, arcname=name, recursive=False)
    return buffer.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Write packed files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def disk_use(folder: Path) -> int:
    """The bytes that the files of a folder take on the disk, each file counted once."""
    sizes = {
        (found.st_dev, found.st_ino): getattr(found, "st_blocks", -(-found.st_size // 512)) * 512
        for _, found in entries(folder)
        if not stat.S_ISDIR(found.st_mode)
    }
    return sum(sizes.values())
