"""Files that a trial wrote below ``trial.directory / "show"``: images, texts and tables, shown with the trial.

Only images of four kinds are sent as such, recognised by their first bytes; texts and tables are part of the page.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from shoestring.objectives.folders import open_file
from shoestring.views.formatting import cut
from shoestring.views.tables import Table

_FOLDER = "show"
_IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_TEXTS = {".txt", ".log", ".md", ".json", ".yaml", ".yml", ".toml"}
_TABLES = {".csv": ",", ".tsv": "\t"}
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
}  # fmt: skip
_LONGEST, _MOST_ROWS, _MOST_COLUMNS, _MOST = 20_000, 50, 30, 24
_LARGEST_IMAGE = 20_000_000


@dataclass(frozen=True)
class Artefact:
    """A file to show: an image by its path, a table, or a text."""

    name: str
    path: Path
    kind: str
    text: str = ""
    table: Table | None = None


def artefacts(folder: Path, files: Iterable[Path], below: Path) -> list[Artefact]:
    """List the files of a trial to show, relative to its folder; of several states the newest."""
    newest: dict[str, Path] = {}
    for path in sorted(files, key=_age):
        if len(path.parts) > 2 and path.parts[1] == _FOLDER:
            newest[Path(*path.parts[2:]).as_posix()] = path
    shown = sorted(newest.items())[:_MOST]
    return [_artefact(name, path, folder, below) for name, path in shown]


def _age(path: Path) -> tuple[float, str]:
    """Snapshots by their step, and what the trial works in after them."""
    found = re.fullmatch(r"step-(\d+)", path.parts[0])
    return (float(found[1]) if found else float("inf"), path.parts[0])


def _artefact(name: str, path: Path, folder: Path, below: Path) -> Artefact:
    kind = path.suffix.lower()
    if kind in _IMAGES:
        return Artefact(name, path, "image")
    if kind not in _TEXTS and kind not in _TABLES:
        return Artefact(name, path, "file")
    try:
        with open_file(folder / path, below=below) as file:
            text = file.read(4 * _LONGEST).decode("utf-8", "replace")
    except OSError:
        return Artefact(name, path, "file")
    if kind in _TABLES:
        return Artefact(name, path, "table", table=_table(text, _TABLES[kind]))
    return Artefact(name, path, "text", cut(text, _LONGEST))


def _table(text: str, delimiter: str) -> Table:
    lines = islice(csv.reader(StringIO(text), delimiter=delimiter), _MOST_ROWS + 1)
    try:
        rows = [row[:_MOST_COLUMNS] for row in lines]
    except csv.Error as error:
        return Table(["this is not a table"], [(str(error),)])
    return Table(rows[0] if rows else ["empty"], rows[1:])


def image_type(file: BinaryIO) -> str | None:
    """The type of an image by its first bytes; None if it is not one that is shown."""
    start = file.read(16)
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    if size > _LARGEST_IMAGE:
        return None
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for first, kind in _STARTS.items() if start.startswith(first)), None)
