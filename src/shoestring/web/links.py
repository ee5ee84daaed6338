"""Addresses within the dashboard."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote


def url(*parts: object) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def quote_path(path: Path) -> str:
    return quote(os.fsencode(path.as_posix()))


def query(**lists: Iterable[object]) -> str:
    """Repeated parameters: ``query(trial=[1, 2])`` is "?trial=1&trial=2"."""
    return "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, values in lists.items() for value in values)


def at_width(source: str, width: int, version: str = "", theme: str = "") -> str:
    """The address of a picture of some width; the version is for the browser, which then loads it again."""
    more = f"&v={quote(version, safe='')}" if version else ""
    more += f"&theme={theme}" if theme else ""
    return f"{source}{'&' if '?' in source else '?'}width={width}{more}"
