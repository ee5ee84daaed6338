"""Studies with several objectives: the front among all readings, and how its hypervolume grew with the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Unpack

import numpy as np

from shoestring._arrays import Array
from shoestring.core.budget import format_amount
from shoestring.core.front import FrontPoint, feasible_losses, reference_point, update_front
from shoestring.core.pareto import hypervolume
from shoestring.plots.picture import Dots, Line, Panel, Picture, thin
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.spending import check_unit
from shoestring.plots.style import STATE_STYLES, category, scale
from shoestring.views.trace import Source, Trace, trace_of

_ONE = "The study has one objective; the plot pareto shows two goals of such a study."


@dataclass(frozen=True)
class Fronts:
    """Every reading by all objectives: ``values`` has a row for each, ``feasible`` says which fulfil the constraints.

    ``front`` has the rows that no other feasible one dominates, sorted by the first objective.
    """

    name: str
    objectives: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    trials: tuple[int, ...]
    steps: tuple[int, ...]
    feasible: tuple[bool, ...]
    front: tuple[int, ...]
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: front of {', '.join(self.objectives)}"
        if self.note:
            return Picture(title, note=self.note)
        pairs = combinations(range(len(self.objectives)), 2)
        return Picture(title, [self._panel(a, b) for a, b in pairs])

    def _panel(self, a: int, b: int) -> Panel:
        x, y = ([row[i] for row in self.values] for i in (a, b))
        axes = scale(x), scale(y)
        dominated = [i for i in range(len(x)) if self.feasible[i] and i not in set(self.front)]
        violating = [i for i in range(len(x)) if not self.feasible[i]]
        marks: list[Dots | Line] = []
        for places, color, label in (
            (violating, STATE_STYLES["failed"].color, "violates a constraint"),
            (dominated, category(4), "dominated"),
        ):
            shown = places[thin(len(places))]
            if shown:
                own = [self.trials[i] for i in shown]
                marks.append(Dots([x[i] for i in shown], [y[i] for i in shown], color, label, opacity=0.7, keys=own))
        ahead = sorted(self.front, key=lambda i: (x[i], y[i]))
        fx, fy, keys = [x[i] for i in ahead], [y[i] for i in ahead], [self.trials[i] for i in ahead]
        if len(self.objectives) == 2:
            marks.append(Line(fx, fy, category(0), "", width=2.0, steps=True))
        marks.append(Dots(fx, fy, category(0), f"front ({format_amount('readings', len(fx))})", "square", 6, keys=keys))
        names = self.objectives[a], self.objectives[b]
        return Panel(marks, "", *names, axes[0].log, axes[1].log, None, None, axes[0].range, axes[1].range)


@Plot
def front(study: Source, **_: Unpack[FigureOptions]) -> Fronts:
    """The front of a study with several objectives: one panel for each pair of them, with all other readings."""
    trace = trace_of(study)
    history, goals = trace.history, trace.history.goals
    readings = [(trial, step, trial.readings[step]) for trial, step, _ in history.readings]
    places = {(trial.index, step): place for place, (trial, step, _) in enumerate(readings)}
    note = trace.why_empty() or ("" if goals.several else _ONE)
    return Fronts(
        trace.name,
        goals.names,
        tuple(tuple(goals.values(reading).values()) for _, _, reading in readings),
        tuple(trial.index for trial, _, _ in readings),
        tuple(step for _, step, _ in readings),
        tuple(trial.is_feasible(step) for trial, step, _ in readings),
        tuple(places[point.trial.index, point.step] for point in history.front),
        note,
    )


@dataclass(frozen=True)
class Volumes:
    """The hypervolume of the front each time that it changed, at what had been ``spent`` by then.

    ``reference`` is the point that it is measured to, by objective.
    """

    name: str
    unit: str
    spent: tuple[float, ...]
    volumes: tuple[float, ...]
    reference: dict[str, float]
    limit: float | None
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: hypervolume against the budget"
        if self.note:
            return Picture(title, note=self.note)
        color = STATE_STYLES["finished"].color
        marks = (Line(self.spent, self.volumes, color, "hypervolume of the front", width=2.2, steps=True),)
        x_range = (-0.02 * self.limit, 1.02 * self.limit) if self.limit else None
        return Picture(title, (Panel(marks, "", f"{self.unit} spent", "hypervolume", x_range=x_range),))


@Plot
def volume(
    study: Source, *, unit: str | None = None, reference: Mapping[str, float] | None = None, **_: Unpack[FigureOptions]
) -> Volumes:
    """Hypervolume of the front against the budget, for studies with several objectives.

    ``unit`` is that of the budget, and ``reference`` the point that the volume is measured to, with a value for each
    objective; by default it has the worst value of each.
    """
    trace = trace_of(study)
    unit = check_unit(trace, unit)
    history, limit = trace.history, trace.history.ledger.budget.limits().get(unit)
    note = trace.why_empty() or ("" if history.goals.several else _ONE)
    note = note or ("" if history.front else "No reading fulfils the constraints.")
    if note:
        return Volumes(trace.name, unit, (), (), {}, limit, note)
    point = reference_point(history, reference)
    spent, volumes = _growth(trace, unit, point)
    signs = zip(history.goals.names, history.goals.signs, point.tolist(), strict=True)
    named = {name: sign * value for name, sign, value in signs}
    return Volumes(trace.name, unit, spent, volumes, named, limit)


def _growth(trace: Trace, unit: str, point: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return what was spent when the front changed, and its volume then; the last volume is held until now."""
    amounts = trace.amounts_spent(unit)[trace.reported].tolist()
    places = {(trial.index, step): place for place, (trial, step, _) in enumerate(trace.history.readings)}
    found: list[FrontPoint] = []
    spent, volumes = [0.0], [0.0]
    for trial, step, losses in feasible_losses(trace.history):
        changed = update_front(found, FrontPoint(losses, trial, step))
        if changed is not found:
            found = changed
            spent.append(amounts[places[trial.index, step]])
            volumes.append(hypervolume(np.array([one.losses for one in found]), point))
    return (*spent, amounts[-1]), (*volumes, volumes[-1])
