"""Values in a notebook: small HTML tables of names and values, with every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


class ShownAsTable:
    """A value that a notebook shows as a table: ``_pairs`` gives its title, and plain values by name."""

    __slots__ = ()

    def _pairs(self) -> tuple[str, Mapping[str, Any]]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return pairs_table(*self._pairs())


def with_own_names(row: Mapping[str, Any], kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A row with further values; one that is called like a column of the row gets a longer name.

    >>> with_own_names({"value": 0.5}, "config", {"lr": 0.1, "value": 3})
    {'value': 0.5, 'lr': 0.1, 'config.value': 3}
    """
    return {**row, **{f"{kind}.{name}" if name in row else name: value for name, value in values.items()}}


def pairs_table(title: str, pairs: Mapping[str, Any]) -> str:
    """A table with one row for each name.

    >>> from shoestring._tables import pairs_table
    >>> pairs_table("Budget", {"steps": 300})
    '<table><caption>Budget</caption><tr><th>steps</th><td>300</td></tr></table>'
    """
    rows = "".join(f"<tr><th>{escape(str(name))}</th><td>{_text(value)}</td></tr>" for name, value in pairs.items())
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "<br>".join(f"{escape(str(name))} = {_text(part)}" for name, part in value.items())
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))
