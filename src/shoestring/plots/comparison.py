"""Comparisons: two goals of one study (Pareto front), and the regret of several studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from shoestring._arrays import Array, Mask
from shoestring.core.budget import format_amount
from shoestring.core.history import FAILED, TrialRecord
from shoestring.errors import MethodError
from shoestring.plots.picture import Band, Dots, Line, Mark, Panel, Picture, thin
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import DASHES, category, scale
from shoestring.views.progress import losses_that_count
from shoestring.views.trace import Source, Trace, trace_of

_GRID = 100


@dataclass(frozen=True)
class ParetoFront:
    """Every trial at its recommended step by two goals; ``front`` has the positions that no other beats in both."""

    name: str
    goals: tuple[str, str]
    trials: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    front: tuple[int, ...]
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: Pareto front of {self.goals[1]} and {self.goals[0]}"
        if self.note:
            return Picture(title, note=self.note)
        x, y = [self.x[i] for i in self.front], [self.y[i] for i in self.front]
        ahead = [self.trials[i] for i in self.front]
        shown = thin(len(self.x))
        marks = (
            Dots(self.x[shown], self.y[shown], category(4), "trial", opacity=0.8, keys=self.trials[shown]),
            Line(x, y, category(0), "", width=2.0, steps=True),
            Dots(x, y, category(0), f"front ({format_amount('trials', len(x))})", "square", 6, keys=ahead),
        )
        axes = scale(self.x), scale(self.y)
        panel = Panel(marks, "", *self.goals, axes[0].log, axes[1].log, None, None, axes[0].range, axes[1].range)
        return Picture(title, (panel,))


@Plot
def pareto(
    study: Source, *, x: str = "", y: str = "value", smaller_x: bool = True, **_: Unpack[FigureOptions]
) -> ParetoFront:
    """Pareto front of two goals: "value", "cost", "seconds", "steps" or a metric of the readings, as they were at the
    recommended step of each trial.

    ``x`` is by default the cost, or the steps where readings have none. Smaller is better for ``x`` unless
    ``smaller_x`` is false, and for ``y`` as the study says.
    """
    trace = trace_of(study)
    trials = [t for t in trace.history.trials if t.recommended and t.state not in FAILED]
    trials = [t for t in trials if t.recommended and t.is_feasible(t.recommended.step)] or trials
    x = x or ("cost" if any(r.cost for t in trials for r in t.readings.values()) else "steps")
    goals = [_goal(trials, name) for name in (x, y)] if trials else [np.zeros(0), np.zeros(0)]
    known = np.isfinite(goals[0]) & np.isfinite(goals[1])
    first, second = goals[0][known], goals[1][known]
    signs = (1.0 if smaller_x else -1.0), trace.history.sign if y == "value" else 1.0
    front = _front(signs[0] * first, signs[1] * second)
    indices = tuple(t.index for t, there in zip(trials, known.tolist(), strict=True) if there)
    note = trace.why_empty() or ("" if len(indices) else "There is no trial with both values that did not fail.")
    order = tuple(int(i) for i in np.flatnonzero(front)[np.argsort(first[front], kind="stable")])
    return ParetoFront(trace.name, (x, y), indices, tuple(map(float, first)), tuple(map(float, second)), order, note)


def _goal(trials: list[TrialRecord], name: str) -> Array:
    found = np.array([_value(trial, name) for trial in trials])
    if np.isnan(found).all():
        readings = [reading for trial in trials for reading in trial.readings.values()]
        metrics = sorted({name for r in readings for name, number in r.metrics.items() if isinstance(number, float)})
        known = ", ".join(["value", "cost", "seconds", "steps", *metrics])
        raise MethodError(f"no reading has {name!r}; there is {known}")
    return found


def _value(trial: TrialRecord, name: str) -> float:
    assert trial.recommended is not None
    step = trial.recommended.step
    reading = trial.readings[step]
    match name:
        case "value":
            return reading.value
        case "cost":
            costs = [r.cost for s, r in trial.readings.items() if s <= step and r.cost is not None]
            return float(sum(costs)) if costs else np.nan
        case "seconds":
            return trial.seconds
        case "steps":
            return float(step)
    found = reading.metrics.get(name)
    return found if isinstance(found, float) else np.nan


def _front(a: Array, b: Array) -> Mask:
    """Return which points no other point beats in both coordinates; of equal points the first."""
    front, best = np.zeros(len(a), dtype=bool), np.inf
    for i in np.lexsort((b, a)):
        if b[i] < best:
            front[i], best = True, b[i]
    return front


@dataclass(frozen=True)
class RegretCurve:
    """The mean regret of a group of studies after each amount of the budget, and its standard error."""

    label: str
    studies: int
    spent: tuple[float, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]


@dataclass(frozen=True)
class Regret:
    unit: str
    optimum: float
    curves: tuple[RegretCurve, ...]
    note: str = ""
    log: bool | None = None

    def picture(self) -> Picture:
        title = "Regret against the budget"
        if self.note:
            return Picture(title, note=self.note)
        positive = [m for curve in self.curves for m in curve.mean if m > 0]
        log = self.log if self.log is not None else max(positive) > 5 * min(positive)
        # On a logarithmic axis a regret of 0, of the best of all, is drawn at the bottom.
        floor = min(positive) / 3 if log else -np.inf
        marks: list[Mark] = []
        for i, curve in enumerate(self.curves):
            low, high = np.subtract(curve.mean, curve.error), np.add(curve.mean, curve.error)
            if curve.studies > 1:
                low, high = np.maximum(low, floor), np.maximum(high, floor)
                marks.append(Band(curve.spent, low.tolist(), high.tolist(), category(i)))
            label = f"{curve.label} ({curve.studies} {'study' if curve.studies == 1 else 'studies'})"
            mean = np.maximum(curve.mean, floor).tolist()
            marks.append(Line(curve.spent, mean, category(i), label, DASHES[i % 3], 2.0))
        several = any(curve.studies > 1 for curve in self.curves)
        remark = ("mean ± standard error; " if several else "") + f"the optimum is taken to be {self.optimum:.4g}"
        return Picture(title, (Panel(marks, remark, f"{self.unit} spent", "regret", y_log=log),))


@Plot
def regret(
    studies: Mapping[str, Sequence[Source]] | Sequence[Source], *, optimum: float | None = None,
    log: bool | None = None, **_: Unpack[FigureOptions],
) -> Regret:  # fmt: skip
    """Regret against the budget of several studies, with bands over the studies of a group.

    Give a list of studies, or a mapping of labels to lists of studies, such as one for each seed. ``optimum`` is the
    best possible value; without it the best value of all is taken. ``log`` is whether the regret has a logarithmic axis
    (None: if it spans more than a factor of five).
    """
    groups = _groups(studies)
    traces = [trace for group in groups.values() for trace in group]
    known = [trace for trace in traces if np.isfinite(losses_that_count(trace.history)).any()]
    if len({trace.history.sign for trace in traces}) > 1:
        raise MethodError("the studies must all be minimised or all be maximised")
    if not known:
        return Regret("steps", 0.0, (), _why_no_regret(traces))
    sign, unit = known[0].history.sign, known[0].unit
    best = min(min(losses_that_count(trace.history)) for trace in known)
    lowest = best if optimum is None else sign * optimum
    drawn = [(label, [t for t in group if t in known]) for label, group in groups.items()]
    curves = tuple(_regret(label, group, unit, lowest) for label, group in drawn if group)
    flat = not any(any(curve.mean) for curve in curves)
    note = f"There is no regret to draw: the first reading is the best, {sign * lowest:.4g}." if flat else ""
    return Regret(unit, sign * lowest, curves, note, log)


def _why_no_regret(traces: Sequence[Trace]) -> str:
    if not traces:
        return "There is no study to compare."
    return traces[0].why_empty() or "No reading fulfils the constraints."


def _groups(studies: Mapping[str, Sequence[Source]] | Sequence[Source]) -> dict[str, list[Trace]]:
    if isinstance(studies, Mapping):
        return {str(label): [trace_of(study) for study in group] for label, group in studies.items()}
    traces = [trace_of(study) for study in studies]
    labels = [trace.name or f"study {i}" for i, trace in enumerate(traces)]
    return {
        label if labels.count(label) == 1 else f"{label} {i}": [t]
        for i, (label, t) in enumerate(zip(labels, traces, strict=True))
    }


def _regret(label: str, group: list[Trace], unit: str, lowest: float) -> RegretCurve:
    """On a grid from where all studies of the group have a reading to where the last one ends."""
    played = []
    for trace in group:
        losses = np.minimum.accumulate(losses_that_count(trace.history))
        there = np.isfinite(losses)  # from the first reading that fulfils the constraints
        played.append((trace.amounts_spent(unit)[trace.reported][there], losses[there] - lowest))
    start, end = max(spent[0] for spent, _ in played), max(spent[-1] for spent, _ in played)
    grid = np.linspace(start, end, _GRID)
    rows = np.array([values[np.maximum(np.searchsorted(spent, grid, "right") - 1, 0)] for spent, values in played])
    n = len(rows)
    error = rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(_GRID)
    return RegretCurve(
        label, n, tuple(map(float, grid)), tuple(map(float, rows.mean(axis=0))), tuple(map(float, error))
    )
