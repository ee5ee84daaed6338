"""Formats of values for people: the same in the live display and on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoestring._text import one_line
from shoestring.core.history import History
from shoestring.core.recommendation import Best
from shoestring.logs.addresses import hide_password
from shoestring.methods.registry import describe, named, names

# Stamps before the first are seconds of a virtual clock; the calendar of Python ends with the second.
_EARLIEST, _LATEST = 1e9, 2.5e11
_BARS = "▁▂▃▄▅▆▇█"


def number(value: object) -> str:
    """Format a number so that it is short enough to read; anything else unchanged.

    >>> from shoestring.views.formatting import number
    >>> number(0.012345678), number(96), number("relu")
    ('0.01235', '96', 'relu')
    """
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def cut(text: str, most: int = 500) -> str:
    """The beginning of a text that may be very long.

    >>> from shoestring.views.formatting import cut
    >>> cut("word " * 400, 9)
    'word word… (2,000 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def settings(config: Mapping[str, Any]) -> str:
    return "  ".join(f"{one_line(name)}={number(value)}" for name, value in config.items())


def best_line(best: Best, history: History) -> str:
    """The value, at which step of how many that the trial has had, and which trial it is.

    With several objectives it is the member of the front that balances them.
    """
    steps = history.trials[best.trial].step
    place = f" at step {best.step} of {steps}" if (history.max_resource or 1) > 1 else ""
    expected = "" if best.expected is None else f", {number(best.expected)} expected without the noise"
    value = number(best.value)
    if history.goals.several:
        of = f" (balances a front of {len(history.front)})"
        value = values_line(history.goals.values(history.trials[best.trial].readings[best.step])) + of
    return f"{value}{place} by trial {best.trial} (configuration {best.arm}){expected}"


def values_line(values: Mapping[str, float]) -> str:
    """The values of several objectives, without spaces.

    >>> from shoestring.views.formatting import values_line
    >>> values_line({"error": 0.125, "latency": 3.0})
    'error=0.125,latency=3'
    """
    return ",".join(f"{name}={number(value)}" for name, value in values.items())


def shell_arguments(storage: str, name: str) -> str:
    """The arguments that name a study, as one would type them."""
    return shlex.join([hide_password(storage).removeprefix("sqlite:///"), name])


def short_path(path: Path) -> str:
    """A path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def size(count: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> from shoestring.views.formatting import size
    >>> size(4096), size(120_000_000)
    ('4.1 kB', '120 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def duration(seconds: float) -> str:
    """Seconds in the two units that matter.

    >>> from shoestring.views.formatting import duration
    >>> duration(7.4), duration(95), duration(3725)
    ('7 s', '1 min 35 s', '1 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if 0 < seconds < 1 else f"{int(seconds)} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def moment(at: float, pattern: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    """Format a time stamp as date and time; seconds of a virtual clock, and times beyond the calendar, as numbers."""
    if _EARLIEST <= at < _LATEST:
        return datetime.fromtimestamp(at, UTC).strftime(pattern)
    return f"{at:.4g} s"


def amount(unit: str, value: float) -> str:
    """An amount of one of the budget's units, without the name of the unit."""
    return duration(value) if unit == "seconds" else f"{value:,.6g}"


def with_unit(unit: str, value: float) -> str:
    """An amount of one of the budget's units, with its name; a duration has its own."""
    return amount(unit, value) if unit == "seconds" else f"{amount(unit, value)} {unit}"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values as a line of bars, at most ``width`` of them; each stands for the last value of its part.

    >>> from shoestring.views.formatting import sparkline
    >>> sparkline([4.0, 2.0, 1.0, 1.0])
    '█▃▁▁'
    """
    count = min(width, len(values))
    shown = [values[(i + 1) * len(values) // count - 1] for i in range(count)]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    span = (high - low) or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in shown)


def method_name(description: Mapping[str, Any]) -> str:
    """The name of a method from its description in a log: a registered name if it has one, else its parts.

    >>> from shoestring.methods.registry import describe, named
    >>> from shoestring.views.formatting import method_name
    >>> method_name(describe(named("asha"))), method_name({"class": "mine:Method"})
    ('asha', 'mine:Method')
    """
    for name in names():
        if name != "auto" and describe(named(name)) == description:
            return name
    parts = [value for value in description.values() if isinstance(value, Mapping)]
    return " + ".join(map(method_name, parts)) or _call(description)


def _call(description: Mapping[str, Any]) -> str:
    options = ", ".join(f"{name}={value}" for name, value in description.items() if name != "class")
    kind = description.get("class")
    return one_line(f"{kind}({options})" if options else str(kind))
