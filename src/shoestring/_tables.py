"""Values in a notebook: small HTML tables of names and values, with every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


def pairs_table(title: str, pairs: Mapping[str, Any]) -> str:
    """A table with one row for each name.

    >>> from shoestring._tables import pairs_table
    >>> pairs_table("Budget", {"steps": 300})
    '<table><caption>Budget</caption><tr><th>steps</th><td>300</td></tr></table>'
    """
    rows = "".join(f"<tr><th>{escape(str(name))}</th><td>{_shown(value)}</td></tr>" for name, value in pairs.items())
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "<br>".join(f"{escape(str(name))} = {_shown(part)}" for name, part in value.items())
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))
