"""Addresses within the dashboard."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from shoestring.ui.html import text


def url(*parts: object) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def query(**lists: Iterable[object]) -> str:
    """Repeated parameters: ``query(trial=[1, 2])`` is "?trial=1&trial=2"."""
    return "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, values in lists.items() for value in values)


def link(target: str, label: object) -> str:
    return f'<a href="{text(target)}">{text(label)}</a>'


def at_width(source: str, width: int, version: str = "") -> str:
    """The address of a picture of some width; the version is for the browser, which then loads it again."""
    more = f"&v={quote(version, safe='')}" if version else ""
    return f"{source}{'&' if '?' in source else '?'}width={width}{more}"
