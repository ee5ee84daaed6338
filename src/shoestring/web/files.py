"""The files of a trial: listed, and served from the folder of their trial alone, as downloads."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from shoestring.objectives.folders import entries, is_folder

# At most this many files of a trial are listed, and this many are looked at.
_MOST_FILES, _LOOKED_AT = 200, 20_000


def files_of_trial(folder: Path) -> list[Path]:
    """The files of a trial, relative to its folder; links are left out."""
    seen = islice(entries(folder), _LOOKED_AT) if is_folder(folder.parent) else ()
    found = (Path(name) for name, status in seen if stat.S_ISREG(status.st_mode))
    return list(islice(found, _MOST_FILES))


def download(file: BinaryIO, name: str) -> Response:
    """A file that is open already: a link that takes its place meanwhile changes nothing."""
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}",
    }
    chunks = iter(lambda: file.read(1 << 16), b"")
    return StreamingResponse(
        chunks, headers=headers, media_type="application/octet-stream", background=BackgroundTask(file.close)
    )


def inline_image(file: BinaryIO, kind: str) -> Response:
    """An image that is open already, for a page; opened by itself it can run nothing."""
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-security-policy": "default-src 'none'; sandbox",
    }
    chunks = iter(lambda: file.read(1 << 16), b"")
    return StreamingResponse(chunks, headers=headers, media_type=kind, background=BackgroundTask(file.close))
