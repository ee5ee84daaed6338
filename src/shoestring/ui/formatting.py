"""How values are shown to people: the same in the live display and on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoestring.core.history import History, TrialRecord, TrialState
from shoestring.core.recommendation import Best
from shoestring.methods.registry import described, named, names

STATES: tuple[TrialState, ...] = ("running", "paused", "finished", "failed", "stopped", "lost")


def number(value: object) -> str:
    """A number short enough to read; anything else as it is.

    >>> from shoestring.ui.formatting import number
    >>> number(0.012345678), number(96), number("relu")
    ('0.01235', '96', 'relu')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def settings(config: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={number(value)}" for name, value in config.items())


def best_line(best: Best, history: History) -> str:
    """The value, at which step of how many that the trial has had, and which trial it is."""
    steps = history.trials[best.trial].step
    place = f" at step {best.step} of {steps}" if (history.max_resource or 1) > 1 else ""
    return f"{number(best.value)}{place} by trial {best.trial} (configuration {best.arm})"


def short_path(path: Path) -> str:
    """A path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def duration(seconds: float) -> str:
    """Seconds in the two units that matter.

    >>> from shoestring.ui.formatting import duration
    >>> duration(7.4), duration(95), duration(3725)
    ('7 s', '1 min 35 s', '1 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if 0 < seconds < 1 else f"{int(seconds)} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def amount(unit: str, value: float) -> str:
    """An amount of one of the budget's units, without the name of the unit."""
    return duration(value) if unit == "seconds" else f"{value:,.6g}"


def count_states(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """How many trials are in each state; states without any are left out."""
    counts = Counter(trial.state for trial in trials)
    return {state: counts[state] for state in STATES if counts[state]}


def states(trials: Iterable[TrialRecord]) -> str:
    return ", ".join(f"{count} {state}" for state, count in count_states(trials).items()) or "none yet"


def method_name(description: Mapping[str, Any]) -> str:
    """The name of a method from its description in a log: a registered name if it has one, else its parts.

    >>> from shoestring.methods.registry import described, named
    >>> from shoestring.ui.formatting import method_name
    >>> method_name(described(named("asha"))), method_name({"class": "mine:Method"})
    ('asha', 'mine:Method')
    """
    for name in names():
        if name != "auto" and described(named(name)) == description:
            return name
    parts = [value for value in description.values() if isinstance(value, Mapping)]
    return " + ".join(map(method_name, parts)) or _call(description)


def _call(description: Mapping[str, Any]) -> str:
    options = ", ".join(f"{name}={value}" for name, value in description.items() if name != "class")
    return f"{description.get('class')}({options})" if options else str(description.get("class"))
