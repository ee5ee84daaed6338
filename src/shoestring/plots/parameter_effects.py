"""How the value depends on the parameters: parallel coordinates, slices, a contour, and importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoestring._arrays import Array
from shoestring.core.budget import counted
from shoestring.core.observations import observed
from shoestring.errors import MethodError
from shoestring.models.tree_importance import fanova, permutation, predicted
from shoestring.plots.picture import Bars, Dots, Heat, Line, Panel, Picture, Ticks, bounded, joined, thinned
from shoestring.plots.plot import Plot
from shoestring.plots.style import category, scale, shade, shortened, tick_places
from shoestring.spaces.axes import Axis
from shoestring.views.formatting import number
from shoestring.views.trace import Source, Trace, trace_of

# A forest says nothing about fewer configurations than this.
_FEWEST = 10
_MOST_LINES, _MOST_DOTS = 400, 1000
# A forest on more configurations than this takes long and says the same; they are chosen evenly.
_MOST_FITTED = 2000
_SHADES = 8
_MOST_TICKS = 8
_GRID = 24


@dataclass(frozen=True, eq=False)
class _Observed:
    """The configurations with a value at one step, as points of the unit cube and losses."""

    points: Array
    losses: Array
    step: int
    axes: list[Axis]


def _observed(trace: Trace, step: int | None) -> _Observed:
    """By default at the furthest step that a fifth of the configurations, and at least ``_FEWEST``, have reached."""
    history = trace.history
    seen = observed(history)
    enough = max(min(len(seen), _FEWEST), len(seen) // 5)
    found = step or (len(seen) and seen.furthest_step(enough)) or seen.furthest_step(1)
    losses = seen.losses(found) if found else np.full(len(seen), np.nan)
    known = ~np.isnan(losses)
    points = seen.points[known] if len(seen) else np.zeros((0, history.codec.dimensions))
    drawn = np.array([bounded(loss) for loss in losses[known]])
    return _Observed(points, drawn, found, history.codec.axes)


def _fitted(seen: _Observed) -> tuple[Array, Array]:
    """The points and losses that a forest is fitted to."""
    chosen = thinned(len(seen.losses), _MOST_FITTED)
    return seen.points[chosen], seen.losses[chosen]


def _too_few(trace: Trace, seen: _Observed) -> str:
    """Why a forest cannot be fitted, in a sentence; empty if it can."""
    if trace.why_empty():
        return trace.why_empty()
    if len(seen.losses) >= _FEWEST:
        same = not np.ptp(seen.losses)
        return f"All {_where(seen.step, len(seen.losses))} have the same value." if same else ""
    return (
        f"This plot needs at least {_FEWEST} configurations with a value at the same step; "
        f"there {'is' if len(seen.losses) == 1 else 'are'} {len(seen.losses)} at step {seen.step}."
    )


def _where(step: int, count: int) -> str:
    return f"{counted('configurations', count)} at step {step}"


def _ticks(axis: Axis) -> Ticks:
    """Places in the unit interval and the parameter's values there."""
    if axis.cells is not None and (axis.choices or axis.cells <= _MOST_TICKS):
        return [(place, shortened(_shown(axis.decode(place)), 12)) for place in _apart(axis)]
    low, middle, high = (axis.decode(place) for place in (0.0, 0.5, 1.0))
    log = low > 0 and abs(middle**2 / (low * high) - 1) < 0.2
    return [(axis.encode(value), _shown(value)) for value in tick_places(low, high, log, 4)]


def _apart(axis: Axis) -> list[float]:
    """The places of the values of a finite parameter, without those too close to the one before."""
    places: list[float] = []
    for cell in range(axis.cells or 0):
        place = axis.centre(cell)
        if not places or place - places[-1] > 1 / _MOST_TICKS - 1e-9:
            places.append(place)
    return places


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _ranks(losses: Array) -> Array:
    """From 0 for the best to 1 for the worst."""
    return np.argsort(np.argsort(losses, kind="stable"), kind="stable") / max(len(losses) - 1, 1)


@dataclass(frozen=True)
class ParallelCoordinates:
    """One line for a configuration, from parameter to parameter and to its rank; the best first."""

    name: str
    axes: tuple[str, ...]
    ranges: tuple[str, ...]
    lines: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    where: str
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: parallel coordinates"
        if self.note:
            return Picture(title, note=self.note)
        marks = []
        groups = np.minimum((np.arange(len(self.lines)) / max(len(self.lines), 1) * _SHADES).astype(int), _SHADES - 1)
        for group in sorted(set(groups.tolist()), reverse=True):
            chosen = [self.lines[i] for i in np.flatnonzero(groups == group)]
            x, y = joined((range(len(line)), line) for line in chosen)
            label = {0: "best eighth", _SHADES - 1: "worst eighth"}.get(group, "")
            marks.append(Line(x, y, shade(group / (_SHADES - 1) * 0.95), label, opacity=0.75))
        ticks = [(i, f"{axis} ({span})") for i, (axis, span) in enumerate(zip(self.axes, self.ranges, strict=True))]
        y_ticks = [(0.0, "low"), (1.0, "high")]
        span = (-0.2, len(self.axes) - 0.8)
        return Picture(
            title, (Panel(marks, self.where, x_ticks=ticks, y_ticks=y_ticks, x_range=span, y_range=(-0.05, 1.05)),)
        )


@Plot
def parallel(study: Source, *, step: int | None = None) -> ParallelCoordinates:
    """Parallel coordinates: every configuration as a line through its parameters, coloured by rank."""
    trace = trace_of(study)
    seen = _observed(trace, step)
    order = np.argsort(seen.losses, kind="stable")
    chosen = order[thinned(len(order), _MOST_LINES)]
    values = trace.history.sign * seen.losses[chosen]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    heights = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    lines = tuple((*map(float, seen.points[i]), float(h)) for i, h in zip(chosen, heights, strict=True))
    ranges = [_range(axis) for axis in seen.axes]
    where = _where(seen.step, len(seen.losses))
    return ParallelCoordinates(
        trace.name, (*(axis.name for axis in seen.axes), "value"),
        (*ranges, f"{number(float(low))} to {number(float(high))}"), lines,
        tuple(map(float, values)), where, trace.why_empty(),
    )  # fmt: skip


def _range(axis: Axis) -> str:
    if axis.categorical and axis.cells and axis.cells <= 4:
        return ", ".join(label for _, label in _ticks(axis))
    return f"{_shown(axis.decode(0.0))} to {_shown(axis.decode(1.0))}"


@dataclass(frozen=True)
class Slice:
    """One parameter: its values as places in [0, 1], and the value of the objective at each."""

    parameter: str
    places: tuple[float, ...]
    values: tuple[float, ...]
    ticks: Ticks


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
            shown = thinned(len(one.values), _MOST_DOTS)
            label = f"{self.where}{axis.remark}"
            dots = Dots(one.places[shown], one.values[shown], category(0), label, opacity=0.6)
            panels.append(
                Panel((dots,), one.parameter, "", "value", y_log=axis.log, x_ticks=one.ticks, x_range=(-0.04, 1.04),
                      y_range=axis.range)
            )  # fmt: skip
        return Picture(title, panels)


@Plot
def slices(study: Source, *, step: int | None = None) -> Slices:
    """Slices: the value against each parameter."""
    trace = trace_of(study)
    seen = _observed(trace, step)
    values = tuple(map(float, trace.history.sign * seen.losses))
    found = [
        Slice(axis.name, tuple(map(float, seen.points[:, i])), values, _ticks(axis)) for i, axis in enumerate(seen.axes)
    ]
    return Slices(trace.name, tuple(found), _where(seen.step, len(values)), trace.why_empty() or _no_parameter(seen))


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
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], "#ffffff", size=5),
            Dots([x for x, _ in self.tried], [y for _, y in self.tried], "#000000", "tried", size=3),
        )
        x, y = self.parameters
        panel = Panel(marks, self.where, x, y, False, False, *self.ticks, (0.0, 1.0), (0.0, 1.0))
        return Picture(title, (panel,))


@Plot
def contour(study: Source, *, x: str | None = None, y: str | None = None, step: int | None = None) -> Contour:
    """Contour of two parameters, by default the two that matter most: what a forest fitted to the readings predicts."""
    trace = trace_of(study)
    seen = _observed(trace, step)
    names = [axis.name for axis in seen.axes]
    for given in (x, y):
        if given is not None and given not in names:
            raise MethodError(f"{given!r} is no parameter that varies; there are {', '.join(names)}")
    note = _too_few(trace, seen) or ("" if len(names) > 1 else "A contour needs two parameters; the space has one.")
    if note:
        return Contour(trace.name, ("", ""), ((), ()), (), (), "", note)
    ranked = [names[i] for i in np.argsort(-fanova(*_fitted(seen)).share, kind="stable")]
    first = x or next(name for name in ranked if name != y)
    second = y or next(name for name in ranked if name != first)
    i, j = names.index(first), names.index(second)
    middles = (np.arange(_GRID) + 0.5) / _GRID
    others = seen.points[np.linspace(0, len(seen.points) - 1, min(len(seen.points), 40)).astype(int)]
    at = np.repeat(others[None], _GRID * _GRID, axis=0)
    at[:, :, i], at[:, :, j] = np.tile(middles, _GRID)[:, None], np.repeat(middles, _GRID)[:, None]
    guess = predicted(*_fitted(seen), at.reshape(-1, len(names))).reshape(_GRID, _GRID, -1).mean(axis=2)
    grid = tuple(tuple(map(float, row)) for row in trace.history.sign * guess)
    tried = tuple((float(point[i]), float(point[j])) for point in _fitted(seen)[0])
    ticks = (_ticks(seen.axes[i]), _ticks(seen.axes[j]))
    return Contour(trace.name, (first, second), ticks, grid, tried, _where(seen.step, len(seen.losses)))


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
def importance(study: Source, *, kind: Kind = "fanova", step: int | None = None) -> Importances:
    """Importance of the parameters, by functional analysis of variance on a forest ("fanova") or by permutation.

    Shares of fanova that add up to less than 1 leave the rest to interactions. Trust it as far as the forest explains
    readings that it has not seen.
    """
    if kind not in _MEASURES:
        raise MethodError(f"kind is {kind!r}; it must be one of {', '.join(map(repr, _MEASURES))}")
    trace = trace_of(study)
    seen = _observed(trace, step)
    note = _too_few(trace, seen) or _no_parameter(seen)
    if note:
        return Importances(trace.name, kind, (), (), (), 0.0, "", note)
    found = {"fanova": fanova, "permutation": permutation}[kind](*_fitted(seen))
    order = np.argsort(-found.share, kind="stable")
    return Importances(
        trace.name, kind, tuple(seen.axes[i].name for i in order), tuple(map(float, found.share[order])),
        tuple(map(float, found.deviation[order])), found.fit, _where(seen.step, len(seen.losses)),
    )  # fmt: skip
