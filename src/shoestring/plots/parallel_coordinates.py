"""Parallel coordinates: every configuration as a line through its parameters to its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from shoestring._arrays import Array
from shoestring.core.goals import number_of
from shoestring.core.history import History
from shoestring.plots.configuration_values import ConfigurationValues, Step, configuration_values
from shoestring.plots.parameter_ticks import ticks_of
from shoestring.plots.picture import Line, Mark, Panel, Picture, Ticks, Words, join, thin
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import INK, grade, scale, tick_places
from shoestring.views.formatting import number
from shoestring.views.objectives import by_objective, value_name
from shoestring.views.trace import Source, trace_of

_MOST_LINES = 400
_SHADES = 8


@dataclass(frozen=True)
class ParallelCoordinates:
    """One line for a configuration, from parameter to parameter and to its values; the best first.

    ``ticks`` has the labels on each axis, ``lines`` the places on them (NaN where a parameter is inactive), and
    ``trials`` a trial of each configuration. ``objective`` is which of several the order and ``values`` are by.
    """

    name: str
    axes: tuple[str, ...]
    ticks: tuple[Ticks, ...]
    lines: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    trials: tuple[int, ...]
    where: str
    note: str = ""
    objective: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: parallel coordinates{self.objective and f', coloured by {self.objective}'}"
        if self.note:
            return Picture(title, note=self.note)
        marks: list[Mark] = []
        groups = np.minimum((np.arange(len(self.lines)) / max(len(self.lines), 1) * _SHADES).astype(int), _SHADES - 1)
        for group in sorted(set(groups.tolist()), reverse=True):
            chosen = [(self.trials[i], range(len(self.axes)), self.lines[i]) for i in np.flatnonzero(groups == group)]
            label = {0: "best eighth", _SHADES - 1: "worst eighth"}.get(group, "")
            marks.append(Line(**join(chosen), color=grade(group / (_SHADES - 1)), label=label, opacity=0.75))
        for i, ticks in enumerate(self.ticks):
            marks.append(Line((i, i), (0.0, 1.0), INK, width=1.0))
            marks.append(Words([float(i)] * len(ticks), [at for at, _ in ticks], [label for _, label in ticks]))
        names = list(enumerate(self.axes))
        span = (-0.2, len(self.axes) - 0.4)
        return Picture(
            title, (Panel(marks, self.where, x_ticks=names, y_ticks=(), x_range=span, y_range=(-0.05, 1.05)),)
        )


@Plot
def parallel(
    study: Source, *, step: Step = "best", objective: str | None = None, **_: Unpack[FigureOptions]
) -> ParallelCoordinates:
    """Parallel coordinates: every configuration as a line through its parameters, coloured by rank.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step. Of several
    objectives each has an axis, and ``objective`` is the one that lines are coloured by, by default the first.
    """
    trace = trace_of(study)
    judged = by_objective(trace, objective)
    seen = configuration_values(judged, step)
    order = np.argsort(seen.losses, kind="stable")
    chosen = order[thin(len(order), _MOST_LINES)]
    values = judged.history.sign * seen.losses[chosen]
    own = value_name(judged)
    objectives = {
        name: values if name == own else _values(judged.history, seen, name)[chosen]
        for name in (trace.history.goals.names if trace.history.goals.several else (own,))
    }
    heights, ticks = zip(*map(_axis, objectives.values()), strict=True)
    lines = tuple(
        (*map(float, seen.points[i]), *ends) for i, ends in zip(chosen, zip(*heights, strict=True), strict=True)
    )
    return ParallelCoordinates(
        trace.name, (*(axis.name for axis in seen.axes), *objectives), (*map(ticks_of, seen.axes), *ticks), lines,
        tuple(map(float, values)), tuple(map(int, seen.trials[chosen])), seen.where, trace.why_empty(),
        own if len(objectives) > 1 else "",
    )  # fmt: skip


def _values(history: History, seen: ConfigurationValues, name: str) -> Array:
    """Another objective of the readings that count, each of the trial that stands for its configuration."""
    found = []
    for index in seen.trials.tolist():
        trial = history.trials[index]
        recommended = trial.step if trial.recommended is None else trial.recommended.step
        reached = max((s for s in trial.readings if s <= (seen.step or recommended)), default=min(trial.readings))
        found.append(number_of(trial.readings[reached], name))
    return np.array(found, dtype=float)


def _axis(values: Array) -> tuple[list[float], Ticks]:
    """The places of values on an axis of their own, and its labels."""
    axis = scale(values.tolist())
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    marked = [at for at in tick_places(low, high, axis.log, 5) if low <= at <= high] if high > low else [low]
    ticks = list(zip(_heights(np.array(marked), low, high, axis.log), map(number, marked), strict=True))
    return _heights(values, low, high, axis.log), ticks


def _heights(values: Array, low: float, high: float, log: bool) -> list[float]:
    """The places of values between the lowest and the highest, in [0, 1]."""
    if high <= low:
        return [0.5] * len(values)
    heights = np.log(values / low) / np.log(high / low) if log else (values - low) / (high - low)
    return [float(height) for height in heights]
