"""The output of a command as readings: lines with a number, or lines of JSON."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from shoestring.core.readings import Reading
from shoestring.errors import CommandError

# Keys of a line that a reading has a name for; "value" and "self" cannot be names of metrics.
_OWN = ("low", "high", "cost")
_NO_METRICS = ("step", "value", "self", *_OWN)
_MOST_SHOWN = 120


class Line(NamedTuple):
    """A line that holds a reading, and its step, if the line says so."""

    step: int | None
    reading: Reading


def parse(text: str, value: str | None) -> Line | None:
    """The reading of a line; None if the line holds none. ``value`` is the key of the value in a line of JSON."""
    text = text.strip()
    if text.startswith("{"):
        return _of_json(text, value)
    if value is None and (number := _number(text)) is not None:
        return Line(None, Reading(number))
    return None


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _of_json(text: str, value: str | None) -> Line | None:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    key = value or _only_value(given)
    if key is not None and key not in given:
        return None
    step = given.get("step")
    if step is not None and (not isinstance(step, int) or isinstance(step, bool)):
        raise CommandError(f"a line has the step {step!r}; a step is a whole number: {printable(text)}")
    own = {name: given[name] for name in _OWN if name in given and name != key}
    metrics = {k: v for k, v in given.items() if k not in (key, *_NO_METRICS) and _is_number(v)}
    return Line(step, Reading(None if key is None else given[key], **own, **metrics))


def _only_value(given: dict[str, Any]) -> str | None:
    """Find the key of the value if the user did not name it: "value", or the only number next to the step.

    None for several numbers: they may be objectives.
    """
    numbers = [key for key, value in given.items() if _is_number(value) and key not in ("step", *_OWN)]
    if "value" in given or not numbers:
        return "value"
    return numbers[0] if len(numbers) == 1 else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def printable(text: str) -> str:
    """A line of a program's output, short enough for a message and without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in text).strip()
    return repr(plain if len(plain) <= _MOST_SHOWN else f"{plain[: _MOST_SHOWN - 3]}...")
