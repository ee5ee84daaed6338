"""Output of the commands: texts without control characters, JSON, and tables."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from shoestring._text import printable


def echo(text: str = "", err: bool = False) -> None:
    """Print a text that may quote a log or a file: control characters are escaped."""
    click.echo(printable(text), err=err)


def print_json(value: object) -> None:
    echo(as_json(value))


def as_json(value: object) -> str:
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as text: JSON has no numbers for them."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines with aligned columns under their heads."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)
    ]
