"""One value of the readings against another: metrics, costs, steps and the value itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.errors import MethodError
from shoestring.plots.picture import Dots, Line, Mark, Panel, Picture, join
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import STATE_STYLES, STRONG, scale
from shoestring.views.trace import Source, Trace, trace_of

# The parts of every reading, in addition to its metrics.
_OWN = ("step", "value", "cost")
_MOST_TRIALS = 300


@dataclass(frozen=True)
class MetricPath:
    """The two values in the readings of one trial."""

    trial: int
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class MetricReadings:
    """The readings that have both values, by trial; of very many trials the ``best`` one and an even choice."""

    name: str
    goals: tuple[str, str]
    paths: tuple[MetricPath, ...]
    best: int | None
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: {self.goals[1]} against {self.goals[0]}"
        if self.note:
            return Picture(title, note=self.note)
        x = scale([value for path in self.paths for value in path.x])
        y = scale([value for path in self.paths for value in path.y])
        others = [(path.trial, path.x, path.y) for path in self.paths if path.trial != self.best]
        leading = [(path.trial, path.x, path.y) for path in self.paths if path.trial == self.best]
        marks: list[Mark] = []
        for chosen, color, label in (
            (others, STATE_STYLES["paused"].color, "trial"),
            (leading, STRONG, f"best: trial {self.best}"),
        ):
            if chosen:
                points = join(chosen)
                marks.append(Line(**points, color=color, label=label, width=1.2, opacity=0.6))
                marks.append(Dots(**points, color=color, size=3.5, opacity=0.8))
        panel = Panel(marks, "", *self.goals, x.log, y.log, None, None, x.range, y.range)
        return Picture(title, (panel,))


@Plot
def metrics(study: Source, *, x: str = "step", y: str = "", **_: Unpack[FigureOptions]) -> MetricReadings:
    """Any value of the readings against any other, a line for each trial.

    ``x`` and ``y`` are "step", "value", "cost" or the name of a metric; ``y`` is by default the first metric, or the
    value where readings have none.
    """
    trace = trace_of(study)
    known = values_of_readings(trace)
    y = y or (known[len(_OWN)] if len(known) > len(_OWN) else "value")
    for given in (x, y):
        if given not in known:
            raise MethodError(f"no reading has {given!r}; there is {', '.join(known)}")
    trials = [trial for trial in trace.history.trials if trial.readings]
    best, every = trace.best(), -(-len(trials) // _MOST_TRIALS) or 1
    leading = best.trial if best else None
    chosen = [trial for i, trial in enumerate(trials) if i % every == 0 or trial.index == leading]
    paths = tuple(path for path in (_path(trial, x, y) for trial in chosen) if path.x)
    note = trace.why_empty() or ("" if paths else f"No reading has both {x} and {y}.")
    return MetricReadings(trace.name, (x, y), paths, leading, note)


def values_of_readings(trace: Trace) -> list[str]:
    """List the columns of a study's readings: "step", "value", "cost", and the numbers among their metrics."""
    found: dict[str, None] = {}
    for trial in trace.history.trials:
        last = trial.readings.get(trial.step)
        if last is not None:
            found |= dict.fromkeys(name for name, value in last.metrics.items() if isinstance(value, int | float))
    return [*_OWN, *found]


def _path(trial: TrialRecord, x: str, y: str) -> MetricPath:
    points = list(_points(trial, x, y))
    return MetricPath(trial.index, tuple(a for a, _ in points), tuple(b for _, b in points))


def _points(trial: TrialRecord, x: str, y: str) -> Iterator[tuple[float, float]]:
    for step, reading in trial.readings.items():
        a, b = _value(step, reading, x), _value(step, reading, y)
        if math.isfinite(a) and math.isfinite(b):
            yield a, b


def _value(step: int, reading: Reading, name: str) -> float:
    found = {"step": step, "value": reading.value, "cost": reading.cost}.get(name, reading.metrics.get(name))
    return float(found) if isinstance(found, int | float) else math.nan
