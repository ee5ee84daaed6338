"""Learning curves, and how they ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from shoestring.core.history import TrialRecord
from shoestring.errors import MethodError
from shoestring.plots.parameter_ticks import value_text
from shoestring.plots.picture import Dots, Line, Mark, Panel, Picture, join
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import DASHES, STATE_STYLES, STRONG, category, grade, scale
from shoestring.spaces.axes import Axis
from shoestring.views.objectives import by_objective, value_name
from shoestring.views.states import is_over, state_words
from shoestring.views.trace import Source, Trace, trace_of

# Curves that are coloured by a parameter with a range are divided into this many parts.
_SHADES = 6


@dataclass(frozen=True)
class Curve:
    """The readings of a trial; ``part`` is the number of its part in ``Curves.parts`` if it is coloured by one."""

    trial: int
    state: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    part: int = 0


@dataclass(frozen=True)
class Curves:
    """The readings of the trials, in log order; of very many the ``best`` one and an even choice are shown.

    ``parts`` are the labels and colours of the curves, if they are coloured by a parameter.
    """

    name: str
    curves: tuple[Curve, ...]
    total: int
    best: int | None
    note: str = ""
    by_trial: bool = False
    over: bool = False
    log: bool | None = None
    best_so_far: bool = False
    parts: tuple[tuple[str, str], ...] = ()
    objective: str = "value"

    def picture(self) -> Picture:
        title = f"{self.name}: learning curves{', best so far' if self.best_so_far else ''}"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale([value for curve in self.curves for value in curve.values], self.log)
        marks = self._each() if self.by_trial else self._by_part() if self.parts else self._by_state()
        leading = next((curve for curve in self.curves if curve.trial == self.best), None)
        if leading is not None and not self.by_trial:
            keys = [leading.trial] * len(leading.steps)
            marks.append(
                Line(leading.steps, leading.values, STRONG, f"best: trial {leading.trial}", width=2.2, keys=keys)
            )
        shown = "" if len(self.curves) == self.total else f"{len(self.curves)} of {self.total} trials"
        return Picture(
            title, (Panel(marks, shown, f"step{axis.remark}", self.objective, y_log=axis.log, y_range=axis.range),)
        )

    def _each(self) -> list[Mark]:
        """One line for each trial, where a few were chosen."""
        found: list[Mark] = []
        for i, curve in enumerate(self.curves):
            label = f"trial {curve.trial} ({state_words(curve.state, self.over)})"
            keys = [curve.trial] * len(curve.steps)
            found.append(Line(curve.steps, curve.values, category(i), label, DASHES[i % 3], 2.0, keys=keys))
            found.append(Dots(curve.steps, curve.values, category(i), keys=keys))
        return found

    def _by_state(self) -> list[Mark]:
        found: list[Mark] = []
        for state, style in STATE_STYLES.items():
            chosen = [curve for curve in self.curves if curve.state == state]
            if chosen:
                label = f"{state_words(state, self.over)} ({len(chosen)})"
                line = Line(**_join(chosen), color=style.color, label=label, dash=style.dash)
                found += [self._thin(line), Dots(**_ends(chosen), color=style.color, shape=style.shape, size=3.5)]
        return found

    def _by_part(self) -> list[Mark]:
        found: list[Mark] = []
        for i, (label, color) in enumerate(self.parts):
            chosen = [curve for curve in self.curves if curve.part == i]
            if chosen:
                found.append(self._thin(Line(**_join(chosen), color=color, label=label)))
                found.append(Dots(**_ends(chosen), color=color, size=3.5))
        return found

    def _thin(self, line: Line) -> Line:
        return replace(line, width=1.2, opacity=0.85 if len(self.curves) < 60 else 0.55)


def _join(curves: Sequence[Curve]) -> Any:
    return join((curve.trial, curve.steps, curve.values) for curve in curves)


def _ends(curves: Sequence[Curve]) -> Any:
    return {
        "x": [curve.steps[-1] for curve in curves],
        "y": [curve.values[-1] for curve in curves],
        "keys": [curve.trial for curve in curves],
    }


@Plot
def curves(
    study: Source, *, most: int = 500, trials: Sequence[int] | None = None, log: bool | None = None,
    best_so_far: bool = False, color: str | None = None, objective: str | None = None, **_: Unpack[FigureOptions],
) -> Curves:  # fmt: skip
    """Learning curves of all trials, drawn by how they ended: finished, paused, stopped, failed, lost or running.

    Of more than ``most`` trials an even choice is drawn, and ``trials`` chooses a few, which are then drawn one by
    one. ``log`` is whether the values have a logarithmic axis (None: if they span orders of magnitude),
    ``best_so_far`` draws the best reading of each trial up to each step, and ``color`` is the parameter by which curves
    are coloured. ``objective`` is which of several is drawn, by default the first.
    """
    trace = by_objective(trace_of(study), objective)
    if trials is not None:
        return replace(_choose(trace, trials, best_so_far), log=log, objective=value_name(trace))
    history, best = trace.history, trace.best()
    known = [trial for trial in history.trials if trial.readings]
    every = -(-len(known) // most) or 1
    chosen = [trial for i, trial in enumerate(known) if i % every == 0 or (best and trial.index == best.trial)]
    parts, part_of = _parts(trace, color)
    found = tuple(_curve(trial, history.sign, best_so_far, part_of(trial)) for trial in chosen)
    return Curves(
        trace.name, found, len(known), best.trial if best else None, trace.why_empty(), over=is_over(history),
        log=log, best_so_far=best_so_far, parts=parts, objective=value_name(trace),
    )  # fmt: skip


def _choose(trace: Trace, indices: Sequence[int], best_so_far: bool) -> Curves:
    history, trials = trace.history, trace.history.trials
    for index in indices:
        if not 0 <= index < len(trials):
            raise MethodError(f"there is no trial {index!r}; the study has {len(trials)}, counted from 0")
    found = tuple(_curve(trials[index], history.sign, best_so_far) for index in indices if trials[index].readings)
    note = "" if found else f"There is no reading of {'this trial' if len(indices) == 1 else 'these trials'} yet."
    return Curves(
        trace.name, found, len(found), None, note, by_trial=True, over=is_over(history), best_so_far=best_so_far
    )


def _curve(trial: TrialRecord, sign: float, best_so_far: bool, part: int = 0) -> Curve:
    values = [reading.value for reading in trial.readings.values()]
    if best_so_far:
        values = (sign * np.minimum.accumulate(sign * np.array(values))).tolist()
    return Curve(trial.index, trial.state, tuple(trial.readings), tuple(values), part)


def _parts(trace: Trace, parameter: str | None) -> tuple[tuple[tuple[str, str], ...], Callable[[TrialRecord], int]]:
    """The labels and colours of the values of a parameter, and which of them a trial has."""
    if parameter is None:
        return (), lambda _: 0
    axes = {axis.name: axis for axis in trace.history.codec.axes}
    if parameter not in axes:
        raise MethodError(f"color is {parameter!r}; it must be one of {', '.join(axes)}")
    axis = axes[parameter]
    parts = _few_values(axis) if axis.cells and axis.cells <= len(DASHES) + _SHADES else _ranges(axis)
    inactive = len(parts)

    def part_of(trial: TrialRecord) -> int:
        if parameter not in trial.config:
            return inactive
        return min(int(axis.encode(trial.config[parameter]) * len(parts)), len(parts) - 1)

    return (*parts, (f"without {parameter}", STATE_STYLES["lost"].color)), part_of


def _few_values(axis: Axis) -> list[tuple[str, str]]:
    count = axis.cells or 1
    values = [axis.decode((i + 0.5) / count) for i in range(count)]
    return [(f"{axis.name} {value_text(value)}", category(i)) for i, value in enumerate(values)]


def _ranges(axis: Axis) -> list[tuple[str, str]]:
    ends = [value_text(axis.decode(i / _SHADES)) for i in range(_SHADES + 1)]
    return [
        (f"{axis.name} {ends[i]} to {ends[i + 1]}", grade(i / (_SHADES - 1))) for i in range(_SHADES)
    ]  # fmt: skip
