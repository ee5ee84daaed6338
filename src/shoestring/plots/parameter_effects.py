"""The effects of the parameters on the value: slices, a contour, and importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np

from shoestring._arrays import Array
from shoestring.errors import MethodError
from shoestring.models.tree_importance import fanova, permutation, predict
from shoestring.plots.configuration_values import FEWEST, ConfigurationValues, Step, configuration_values
from shoestring.plots.parameter_ticks import ticks_of
from shoestring.plots.picture import Bars, Dots, Heat, Mark, Panel, Picture, Ticks, thin
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import PAPER, STATE_STYLES, STRONG, category, scale
from shoestring.views.objectives import by_objective, value_name
from shoestring.views.trace import Source, Trace, trace_of

_MOST_DOTS = 1000
# A forest on more configurations than this takes long and says the same; they are chosen evenly.
_MOST_FITTED = 2000
_GRID = 24


def _points_to_fit(seen: ConfigurationValues) -> tuple[Array, Array]:
    """The points and losses that a forest is fitted to."""
    chosen = thin(len(seen.losses), _MOST_FITTED)
    return seen.points[chosen], seen.losses[chosen]


def _too_few(trace: Trace, seen: ConfigurationValues) -> str:
    """Return why a forest cannot be fitted, in a sentence; empty if it can."""
    if trace.why_empty():
        return trace.why_empty()
    if len(seen.losses) >= FEWEST:
        same = not np.ptp(seen.losses)
        return f"All {seen.where} have the same value." if same else ""
    there = "is" if len(seen.losses) == 1 else "are"
    return f"This plot needs at least {FEWEST} configurations with a value; there {there} {seen.where}."


@dataclass(frozen=True)
class Slice:
    """One parameter: its values as places in [0, 1], and the value of the objective at each.

    ``trials`` has a trial of each configuration, and ``full`` says which were trained to the last step.
    """

    parameter: str
    places: tuple[float, ...]
    values: tuple[float, ...]
    ticks: Ticks
    trials: tuple[int, ...]
    full: tuple[bool, ...]

    def dots(self) -> list[Mark]:
        """The configurations that were trained to the last step, and before them the others."""
        found: list[Mark] = []
        for full, style in ((False, STATE_STYLES["paused"]), (True, STATE_STYLES["finished"])):
            chosen = [i for i, each in enumerate(self.full) if each == full]
            chosen = chosen[thin(len(chosen), _MOST_DOTS)]
            if chosen:
                label = "trained to the last step" if full else "trained for less"
                x, y = [self.places[i] for i in chosen], [self.values[i] for i in chosen]
                shown = "" if all(self.full) else label
                found.append(Dots(x, y, style.color, shown, opacity=0.75, keys=[self.trials[i] for i in chosen]))
        return found


@dataclass(frozen=True)
class Slices:
    name: str
    slices: tuple[Slice, ...]
    where: str
    note: str = ""
    objective: str = "value"

    def picture(self) -> Picture:
        title = f"{self.name}: {self.objective} by parameter"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale([value for one in self.slices for value in one.values])
        label, sides = f"{self.objective}{axis.remark}", ((-0.04, 1.04), axis.range)
        panels = [
            Panel(one.dots(), one.parameter, "", label, False, axis.log, one.ticks, None, *sides)
            for one in self.slices
        ]  # fmt: skip
        return Picture(f"{title}, {self.where}", panels)


@Plot
def slices(study: Source, *, step: Step = "best", objective: str | None = None, **_: Unpack[FigureOptions]) -> Slices:
    """Slices: the value against each parameter.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    ``objective`` is which of several is drawn, by default the first.
    """
    trace = by_objective(trace_of(study), objective)
    seen = configuration_values(trace, step)
    values = tuple(map(float, trace.history.sign * seen.losses))
    trials, full = tuple(map(int, seen.trials)), tuple(map(bool, seen.full))
    found = [
        Slice(axis.name, tuple(map(float, seen.points[:, i])), values, ticks_of(axis), trials, full)
        for i, axis in enumerate(seen.axes)
    ]
    note = trace.why_empty() or _no_parameter(seen)
    return Slices(trace.name, tuple(found), seen.where, note, value_name(trace))


def _no_parameter(seen: ConfigurationValues) -> str:
    return "" if seen.axes else "There is no parameter to draw: all of them are constants."


@dataclass(frozen=True)
class Contour:
    """The value over two parameters as a forest predicts it, the others averaged over what was tried."""

    name: str
    parameters: tuple[str, str]
    ticks: tuple[Ticks, Ticks]
    grid: tuple[tuple[float, ...], ...]
    tried: tuple[tuple[float, float], ...]
    trials: tuple[int, ...]
    where: str
    note: str = ""
    objective: str = "value"

    def picture(self) -> Picture:
        title = (
            f"{self.name}: {self.objective} over {' and '.join(self.parameters)}"
            if self.parameters[0]
            else f"{self.name}: contour"
        )
        if self.note:
            return Picture(title, note=self.note)
        marks = (
            Heat(self.grid, (0.0, 1.0), (0.0, 1.0), f"predicted {self.objective}"),
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], PAPER, size=5),
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], STRONG, "tried", size=3, keys=self.trials),
        )
        x, y = self.parameters
        panel = Panel(marks, self.where, x, y, False, False, *self.ticks, (0.0, 1.0), (0.0, 1.0))
        return Picture(title, (panel,))


@Plot
def contour(
    study: Source, *, x: str | None = None, y: str | None = None, step: Step = "best", objective: str | None = None,
    **_: Unpack[FigureOptions],
) -> Contour:  # fmt: skip
    """Contour of the parameters ``x`` and ``y``, by default the two that matter most: what a forest fitted to the
    readings predicts.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    ``objective`` is which of several is predicted, by default the first.
    """
    trace = by_objective(trace_of(study), objective)
    seen = configuration_values(trace, step)
    names = [axis.name for axis in seen.axes]
    for given in (x, y):
        if given is not None and given not in names:
            raise MethodError(f"{given!r} is not a parameter that varies; there are {', '.join(names)}")
    note = _too_few(trace, seen) or ("" if len(names) > 1 else "A contour needs two parameters; the space has one.")
    if note:
        return Contour(trace.name, ("", ""), ((), ()), (), (), (), "", note)
    ranked = [names[i] for i in np.argsort(-fanova(*_points_to_fit(seen)).share, kind="stable")]
    first = x or next(name for name in ranked if name != y)
    second = y or next(name for name in ranked if name != first)
    i, j = names.index(first), names.index(second)
    middles = (np.arange(_GRID) + 0.5) / _GRID
    others = seen.points[np.linspace(0, len(seen.points) - 1, min(len(seen.points), 40)).astype(int)]
    at = np.repeat(others[None], _GRID * _GRID, axis=0)
    at[:, :, i], at[:, :, j] = np.tile(middles, _GRID)[:, None], np.repeat(middles, _GRID)[:, None]
    guess = predict(*_points_to_fit(seen), at.reshape(-1, len(names))).reshape(_GRID, _GRID, -1).mean(axis=2)
    grid = tuple(tuple(map(float, row)) for row in trace.history.sign * guess)
    tried = tuple((float(point[i]), float(point[j])) for point in _points_to_fit(seen)[0])
    ticks = (ticks_of(seen.axes[i]), ticks_of(seen.axes[j]))
    trials = tuple(map(int, seen.trials[thin(len(seen.losses), _MOST_FITTED)]))
    return Contour(trace.name, (first, second), ticks, grid, tried, trials, seen.where, "", value_name(trace))


Kind = Literal["fanova", "permutation"]
_MEASURES = {"fanova": "share of the variance", "permutation": "growth of the squared error / variance"}


@dataclass(frozen=True)
class Importances:
    """The importance of each parameter with its standard deviation, the largest first; ``fit`` is the forest's R²."""

    name: str
    kind: str
    parameters: tuple[str, ...]
    shares: tuple[float, ...]
    deviations: tuple[float, ...]
    fit: float
    where: str
    note: str = ""
    objective: str = "value"

    def picture(self) -> Picture:
        of = "" if self.objective == "value" else f" for {self.objective}"
        title = f"{self.name}: importance of the parameters{of} ({self.kind})"
        if self.note:
            return Picture(title, note=self.note)
        y = [float(len(self.shares) - 1 - i) for i in range(len(self.shares))]
        bars = Bars(y, [0.0] * len(y), self.shares, category(4), "", self.deviations)
        trust = f"R² of the forest {self.fit:.2f}"
        ticks = list(zip(y, self.parameters, strict=True))
        label = f"{_MEASURES[self.kind]} (± one standard deviation)"
        reach = (
            0.0,
            1.05 * max(share + error for share, error in zip(self.shares, self.deviations, strict=True)) or 1.0,
        )
        panel = Panel((bars,), f"{self.where}, {trust}", label, y_ticks=ticks, x_range=reach, rows=len(y))
        return Picture(title, (panel,))


@Plot
def importance(
    study: Source, *, kind: Kind = "fanova", step: Step = "best", objective: str | None = None,
    **_: Unpack[FigureOptions],
) -> Importances:  # fmt: skip
    """Importance of the parameters; ``kind`` is functional analysis of variance on a forest ("fanova") or permutation.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    ``objective`` is which of several is explained, by default the first.

    Shares of fanova that add up to less than 1 leave the rest to interactions. Trust it as far as the forest explains
    readings that it has not seen.
    """
    if kind not in _MEASURES:
        raise MethodError(f"kind is {kind!r}; it must be one of {', '.join(map(repr, _MEASURES))}")
    trace = by_objective(trace_of(study), objective)
    seen = configuration_values(trace, step)
    note = _too_few(trace, seen) or _no_parameter(seen)
    if note:
        return Importances(trace.name, kind, (), (), (), 0.0, "", note)
    found = {"fanova": fanova, "permutation": permutation}[kind](*_points_to_fit(seen))
    order = np.argsort(-found.share, kind="stable")
    return Importances(
        trace.name, kind, tuple(seen.axes[i].name for i in order), tuple(map(float, found.share[order])),
        tuple(map(float, found.deviation[order])), found.fit, seen.where, "",
        value_name(trace),
    )  # fmt: skip
