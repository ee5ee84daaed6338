"""How values are shown to people: the same in the live display and on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoestring.core.budget import counted
from shoestring.core.history import FAILED, History, TrialRecord, TrialState
from shoestring.core.journal import Journal
from shoestring.core.leases import WorkerRecord
from shoestring.core.recommendation import Best
from shoestring.core.workers import BY_HAND
from shoestring.methods.registry import described, named, names

_BARS = "▁▂▃▄▅▆▇█"

STATES: tuple[TrialState, ...] = ("running", "paused", "finished", "failed", "stopped", "lost")


def number(value: object) -> str:
    """A number short enough to read; anything else as it is.

    >>> from shoestring.ui.formatting import number
    >>> number(0.012345678), number(96), number("relu")
    ('0.01235', '96', 'relu')
    """
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def one_line(text: str) -> str:
    """A text that may hold anything, safe for a table and a terminal: line ends and control characters are escaped.

    >>> from shoestring.ui.formatting import one_line
    >>> one_line("two\\nlines")
    'two\\\\nlines'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def cut(text: str, most: int = 500) -> str:
    """The beginning of a text that may be very long.

    >>> from shoestring.ui.formatting import cut
    >>> cut("word " * 400, 9)
    'word word… (2,000 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def settings(config: Mapping[str, Any]) -> str:
    return "  ".join(f"{one_line(name)}={number(value)}" for name, value in config.items())


def study_line(journal: Journal) -> str:
    """A study in one line: its method, what was spent, and its best value."""
    history = journal.history
    spent, limits = history.ledger.spent(), history.ledger.budget.limits()
    parts = [f"{amount(unit, spent[unit])} of {with_unit(unit, limit)} spent" for unit, limit in limits.items()]
    best = history.best()
    found = "no reading yet" if best is None else f"best {best_line(best, history)}"
    bad = [f"{count} {state}" for state, count in count_states(history.trials).items() if state in FAILED]
    trials = counted("trials", len(history.trials)) + (f" ({', '.join(bad)})" if bad else "")
    return f"<study {journal.name!r}: {method_name(history.opened.method)}, {', '.join(parts)}, {trials}, {found}>"


def best_line(best: Best, history: History) -> str:
    """The value, at which step of how many that the trial has had, and which trial it is."""
    steps = history.trials[best.trial].step
    place = f" at step {best.step} of {steps}" if (history.max_resource or 1) > 1 else ""
    return f"{number(best.value)}{place} by trial {best.trial} (configuration {best.arm})"


def short_path(path: Path) -> str:
    """A path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def size(count: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> from shoestring.ui.formatting import size
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


def with_unit(unit: str, value: float) -> str:
    """An amount of one of the budget's units, with its name; a duration has its own."""
    return amount(unit, value) if unit == "seconds" else f"{amount(unit, value)} {unit}"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values as a line of bars, at most ``width`` of them; each stands for the last value of its part.

    >>> from shoestring.ui.formatting import sparkline
    >>> sparkline([4.0, 2.0, 1.0, 1.0])
    '█▃▁▁'
    """
    count = min(width, len(values))
    shown = [values[(i + 1) * len(values) // count - 1] for i in range(count)]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    span = (high - low) or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in shown)


def count_states(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """How many trials are in each state; states without any are left out."""
    counts = Counter(trial.state for trial in trials)
    return {state: counts[state] for state in STATES if counts[state]}


def states(trials: Iterable[TrialRecord]) -> str:
    return ", ".join(f"{count} {state}" for state, count in count_states(trials).items()) or "none yet"


def study_state(history: History, workers: Iterable[WorkerRecord]) -> str:
    """What the log says of a study; empty if only the method could say whether there is anything left to do."""
    if history.running:
        alive = any(worker.trials and worker.state in ("alive", BY_HAND) for worker in workers)
        return "running" if alive else "interrupted, can be resumed"
    return "finished" if history.ledger.exhausted() else ""


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
