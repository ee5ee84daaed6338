"""The effects of the parameters on the value: parallel coordinates, slices, a contour, and importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.budget import counted
from shoestring.core.history import FAILED, Arm, History
from shoestring.core.observations import observed
from shoestring.errors import MethodError
from shoestring.models.tree_importance import fanova, permutation, predicted
from shoestring.plots.parameter_ticks import ticks_of
from shoestring.plots.picture import (
    Bars,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Ticks,
    Words,
    bound,
    join,
    thin,
)
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import INK, PAPER, STATE_STYLES, STRONG, category, grade, scale, tick_places
from shoestring.spaces.axes import Axis
from shoestring.views.formatting import number
from shoestring.views.trace import Source, Trace, trace_of

# A forest says nothing about fewer configurations than this.
_FEWEST = 10
_MOST_LINES, _MOST_DOTS = 400, 1000
# A forest on more configurations than this takes long and says the same; they are chosen evenly.
_MOST_FITTED = 2000
_SHADES = 8
_GRID = 24
# Which reading of a configuration counts: its recommended one, the one at the last step, the one at the furthest step
# that many have reached, or the one at a step.
Step = int | Literal["best", "final", "common"]


@dataclass(frozen=True, eq=False)
class _Observed:
    """The configurations with a value, as points of the unit cube and losses; ``trials`` has a trial of each.

    ``full`` is whether it was trained to the last step, and ``where`` says which readings these are.
    """

    points: Array
    losses: Array
    trials: Codes
    full: Mask
    where: str
    axes: list[Axis]


def _observe(trace: Trace, step: Step) -> _Observed:
    history = trace.history
    seen = observed(history)
    losses, where = _losses(history, step)
    known = ~np.isnan(losses)
    points = seen.points[known] if len(seen) else np.zeros((0, history.codec.dimensions))
    drawn = np.array([bound(loss) for loss in losses[known]])
    trials = np.array([_longest_trial(arm) for arm, there in zip(history.arms, known, strict=True) if there], dtype=int)
    last = history.max_resource or 1
    full = seen.reached[known] >= last if len(seen) else np.zeros(0, dtype=bool)
    return _Observed(
        points, drawn, trials, full, f"{counted('configurations', len(drawn))} {where}".strip(), history.codec.axes
    )


def _losses(history: History, step: Step) -> tuple[Array, str]:
    """Per arm the loss that counts, NaN where there is none, and in words which one that is."""
    seen, last = observed(history), history.max_resource or 1
    if step == "best":
        losses = np.array([_mean_recommendation(arm) for arm in history.arms], dtype=float)
        return losses, "" if last == 1 else "at their best readings"
    if step == "common":
        enough = max(min(len(seen), _FEWEST), len(seen) // 5)
        found = (len(seen) and seen.furthest_step(enough)) or seen.furthest_step(1)
    elif step == "final":
        found = last
    elif isinstance(step, int) and step > 0:
        found = step
    else:
        raise MethodError(f"step is {step!r}; it must be 'best', 'final', 'common' or the number of a step")
    return seen.losses(found) if found else np.full(len(seen), np.nan), f"at step {found}"


def _mean_recommendation(arm: Arm) -> float:
    """The mean over the trials of an arm of what is recommended of each; NaN without any."""
    found = [t.recommended.loss for t in arm.trials if t.recommended is not None and t.state not in FAILED]
    return sum(found) / len(found) if found else np.nan


def _longest_trial(arm: Arm) -> int:
    """Find the trial of an arm that a point stands for: the longest trained one."""
    return max(arm.trials, key=lambda trial: trial.step).index


def _points_to_fit(seen: _Observed) -> tuple[Array, Array]:
    """The points and losses that a forest is fitted to."""
    chosen = thin(len(seen.losses), _MOST_FITTED)
    return seen.points[chosen], seen.losses[chosen]


def _too_few(trace: Trace, seen: _Observed) -> str:
    """Return why a forest cannot be fitted, in a sentence; empty if it can."""
    if trace.why_empty():
        return trace.why_empty()
    if len(seen.losses) >= _FEWEST:
        same = not np.ptp(seen.losses)
        return f"All {seen.where} have the same value." if same else ""
    there = "is" if len(seen.losses) == 1 else "are"
    return f"This plot needs at least {_FEWEST} configurations with a value; there {there} {seen.where}."


@dataclass(frozen=True)
class ParallelCoordinates:
    """One line for a configuration, from parameter to parameter and to its value; the best first.

    ``ticks`` has the labels on each axis, ``lines`` the places on them (NaN where a parameter is inactive), and
    ``trials`` a trial of each configuration.
    """

    name: str
    axes: tuple[str, ...]
    ticks: tuple[Ticks, ...]
    lines: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    trials: tuple[int, ...]
    where: str
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: parallel coordinates"
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
def parallel(study: Source, *, step: Step = "best", **_: Unpack[FigureOptions]) -> ParallelCoordinates:
    """Parallel coordinates: every configuration as a line through its parameters, coloured by rank.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    """
    trace = trace_of(study)
    seen = _observe(trace, step)
    order = np.argsort(seen.losses, kind="stable")
    chosen = order[thin(len(order), _MOST_LINES)]
    values = trace.history.sign * seen.losses[chosen]
    axis = scale(values.tolist())
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    heights = _heights(values, low, high, axis.log)
    lines = tuple((*map(float, seen.points[i]), float(h)) for i, h in zip(chosen, heights, strict=True))
    marked = [at for at in tick_places(low, high, axis.log, 5) if low <= at <= high] if high > low else [low]
    value_ticks = list(zip(_heights(np.array(marked), low, high, axis.log), map(number, marked), strict=True))
    return ParallelCoordinates(
        trace.name, (*(axis.name for axis in seen.axes), "value"), (*map(ticks_of, seen.axes), value_ticks), lines,
        tuple(map(float, values)), tuple(map(int, seen.trials[chosen])), seen.where, trace.why_empty(),
    )  # fmt: skip


def _heights(values: Array, low: float, high: float, log: bool) -> list[float]:
    """The places of values between the lowest and the highest, in [0, 1]."""
    if high <= low:
        return [0.5] * len(values)
    heights = np.log(values / low) / np.log(high / low) if log else (values - low) / (high - low)
    return [float(height) for height in heights]


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

    def picture(self) -> Picture:
        title = f"{self.name}: value by parameter"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale([value for one in self.slices for value in one.values])
        panels = []
        for one in self.slices:
            panels.append(
                Panel(one.dots(), one.parameter, "", f"value{axis.remark}", y_log=axis.log, x_ticks=one.ticks,
                      x_range=(-0.04, 1.04), y_range=axis.range)
            )  # fmt: skip
        return Picture(f"{title}, {self.where}", panels)


@Plot
def slices(study: Source, *, step: Step = "best", **_: Unpack[FigureOptions]) -> Slices:
    """Slices: the value against each parameter.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    """
    trace = trace_of(study)
    seen = _observe(trace, step)
    values = tuple(map(float, trace.history.sign * seen.losses))
    trials, full = tuple(map(int, seen.trials)), tuple(map(bool, seen.full))
    found = [
        Slice(axis.name, tuple(map(float, seen.points[:, i])), values, ticks_of(axis), trials, full)
        for i, axis in enumerate(seen.axes)
    ]
    return Slices(trace.name, tuple(found), seen.where, trace.why_empty() or _no_parameter(seen))


def _no_parameter(seen: _Observed) -> str:
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

    def picture(self) -> Picture:
        title = (
            f"{self.name}: value over {' and '.join(self.parameters)}"
            if self.parameters[0]
            else f"{self.name}: contour"
        )
        if self.note:
            return Picture(title, note=self.note)
        marks = (
            Heat(self.grid, (0.0, 1.0), (0.0, 1.0), "predicted value"),
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], PAPER, size=5),
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], STRONG, "tried", size=3, keys=self.trials),
        )
        x, y = self.parameters
        panel = Panel(marks, self.where, x, y, False, False, *self.ticks, (0.0, 1.0), (0.0, 1.0))
        return Picture(title, (panel,))


@Plot
def contour(
    study: Source, *, x: str | None = None, y: str | None = None, step: Step = "best", **_: Unpack[FigureOptions]
) -> Contour:
    """Contour of the parameters ``x`` and ``y``, by default the two that matter most: what a forest fitted to the
    readings predicts.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.
    """
    trace = trace_of(study)
    seen = _observe(trace, step)
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
    guess = predicted(*_points_to_fit(seen), at.reshape(-1, len(names))).reshape(_GRID, _GRID, -1).mean(axis=2)
    grid = tuple(tuple(map(float, row)) for row in trace.history.sign * guess)
    tried = tuple((float(point[i]), float(point[j])) for point in _points_to_fit(seen)[0])
    ticks = (ticks_of(seen.axes[i]), ticks_of(seen.axes[j]))
    trials = tuple(map(int, seen.trials[thin(len(seen.losses), _MOST_FITTED)]))
    return Contour(trace.name, (first, second), ticks, grid, tried, trials, seen.where)


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

    def picture(self) -> Picture:
        title = f"{self.name}: importance of the parameters ({self.kind})"
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
def importance(study: Source, *, kind: Kind = "fanova", step: Step = "best", **_: Unpack[FigureOptions]) -> Importances:
    """Importance of the parameters; ``kind`` is functional analysis of variance on a forest ("fanova") or permutation.

    ``step`` is which reading of a configuration counts: "best", "final", "common" or the number of a step.

    Shares of fanova that add up to less than 1 leave the rest to interactions. Trust it as far as the forest explains
    readings that it has not seen.
    """
    if kind not in _MEASURES:
        raise MethodError(f"kind is {kind!r}; it must be one of {', '.join(map(repr, _MEASURES))}")
    trace = trace_of(study)
    seen = _observe(trace, step)
    note = _too_few(trace, seen) or _no_parameter(seen)
    if note:
        return Importances(trace.name, kind, (), (), (), 0.0, "", note)
    found = {"fanova": fanova, "permutation": permutation}[kind](*_points_to_fit(seen))
    order = np.argsort(-found.share, kind="stable")
    return Importances(
        trace.name, kind, tuple(seen.axes[i].name for i in order), tuple(map(float, found.share[order])),
        tuple(map(float, found.deviation[order])), found.fit, seen.where,
    )  # fmt: skip
