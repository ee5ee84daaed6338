"""The course of a study along its budget: the optimisation history, the burn-down, and where the budget went."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from shoestring.core.budget import UNITS
from shoestring.errors import BudgetError
from shoestring.plots.picture import Bars, Dots, Line, Mark, Panel, Picture, bar_range, thin
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import DASHES, STATE_STYLES, category, scale
from shoestring.views.formatting import amount, number
from shoestring.views.objectives import by_objective, value_name
from shoestring.views.progress import losses_that_count
from shoestring.views.trace import Source, Trace, trace_of

_MOST_BARS = 12


@dataclass(frozen=True)
class OptimisationHistory:
    """Every reading at what had been spent by then, and the best so far. ``limit`` is the budget, if it has one.

    ``trials`` has the trial of each reading, and ``bests`` the trial of the best so far, which is infinite before the
    first reading that fulfils the constraints. ``violating`` has the places of those that do not.
    """

    name: str
    unit: str
    spent: tuple[float, ...]
    values: tuple[float, ...]
    best: tuple[float, ...]
    limit: float | None
    trials: tuple[int, ...]
    bests: tuple[int, ...]
    note: str = ""
    log: bool | None = None
    objective: str = "value"
    violating: tuple[int, ...] = ()

    def picture(self) -> Picture:
        title = f"{self.name}: best {self.objective} against the budget"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale(self.values, self.log)
        turns = [i for i in _turns(self.best) if math.isfinite(self.best[i])]
        spent, best = [self.spent[i] for i in turns], [self.best[i] for i in turns]
        violating = set(self.violating)
        kept = [i for i in range(len(self.values)) if i not in violating]
        marks: list[Mark] = [
            *self._dots(self.violating, STATE_STYLES["failed"].color, "violates a constraint"),
            *self._dots(kept, STATE_STYLES["paused"].color, "reading"),
            Line(
                spent, best, STATE_STYLES["finished"].color, "best so far", width=2.2, steps=True,
                keys=[self.bests[i] for i in turns],
            ),
        ]  # fmt: skip
        x_range = (-0.02 * self.limit, 1.02 * self.limit) if self.limit else None
        panel = Panel(
            marks,
            "",
            f"{self.unit} spent{axis.remark}",
            self.objective,
            False,
            axis.log,
            None,
            None,
            x_range,
            axis.range,
        )
        return Picture(title, (panel,))

    def _dots(self, places: Sequence[int], color: str, label: str) -> list[Dots]:
        shown = places[thin(len(places))]
        spent, values = ([column[i] for i in shown] for column in (self.spent, self.values))
        trials = [self.trials[i] for i in shown]
        return [Dots(spent, values, color, label, opacity=0.8, keys=trials)] if shown else []


def _turns(values: Sequence[float]) -> list[int]:
    """Return where a value that is held until the next one changes, and the last place."""
    return [i for i, value in enumerate(values) if i in (0, len(values) - 1) or value != values[i - 1]]


@Plot
def history(
    study: Source, *, unit: str | None = None, log: bool | None = None, objective: str | None = None,
    **_: Unpack[FigureOptions],
) -> OptimisationHistory:  # fmt: skip
    """Optimisation history: the readings and the best so far, with the budget on the x axis.

    ``unit`` is that of the budget, and ``log`` whether the values have a logarithmic axis (None: if they span orders
    of magnitude). ``objective`` is which of several is drawn, by default the first.
    """
    trace = by_objective(trace_of(study), objective)
    unit = check_unit(trace, unit)
    spent = trace.amounts_spent(unit)[trace.reported]
    losses = np.array([loss for _, _, loss in trace.history.readings])
    counted = np.array(losses_that_count(trace.history))
    sign, note = trace.history.sign, trace.why_empty()
    best = np.minimum.accumulate(counted)
    limit = trace.history.ledger.budget.limits().get(unit)
    trials = tuple(trial.index for trial, _, _ in trace.history.readings)
    violating = tuple(np.flatnonzero(counted > losses).tolist())
    leaders = np.maximum.accumulate(np.where(counted == best, np.arange(len(losses)), 0))
    return OptimisationHistory(
        trace.name, unit, tuple(spent), tuple(sign * losses), tuple(sign * best), limit, trials,
        tuple(trials[i] for i in leaders), note, log, value_name(trace), violating,
    )  # fmt: skip


@dataclass(frozen=True)
class BurnDown:
    """The share of each unit of the budget that was left, over the time in seconds."""

    name: str
    seconds: tuple[float, ...]
    left: dict[str, tuple[float, ...]]
    limits: dict[str, float]
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: rest of the budget"
        if self.note:
            return Picture(title, note=self.note)
        marks = [
            Line(self.seconds, shares, category(i), f"{unit} (of {amount(unit, self.limits[unit])})", DASHES[i % 3],
                 2.0, steps=True)
            for i, (unit, shares) in enumerate(self.left.items())
        ]  # fmt: skip
        percent = [(at / 100, f"{at} %") for at in range(0, 101, 25)]
        label = "seconds since the first grant"
        return Picture(title, (Panel(marks, "", label, "left", y_ticks=percent, y_range=(-0.02, 1.04)),))


@Plot
def burn_down(study: Source, **_: Unpack[FigureOptions]) -> BurnDown:
    """Budget burn-down: the share of each unit of the budget that is left, over time."""
    trace = trace_of(study)
    limits = trace.history.ledger.budget.limits()
    keep = _places(len(trace.balances))
    left = {unit: tuple(np.clip(1 - trace.amounts_spent(unit)[keep] / limit, 0, 1)) for unit, limit in limits.items()}
    times = trace.times()[keep]
    note = trace.why_no_runs() or ("" if times.any() else "No time was measured yet.")
    return BurnDown(trace.name, tuple(times), left, limits, note)


def _places(count: int) -> list[int]:
    """Choose few enough of these positions to draw, the last one included."""
    return sorted({*range(count)[thin(count)], count - 1})


@dataclass(frozen=True)
class Shares:
    """The amount spent of a unit, by configuration (the largest first) and by rung; both add up to ``total``."""

    name: str
    unit: str
    total: float
    configurations: tuple[tuple[int, float], ...]
    rungs: tuple[tuple[int, float], ...]
    best: int | None
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: where the {self.unit} went"
        if self.note or not self.total:
            return Picture(title, note=self.note or f"Nothing was spent of the {self.unit} yet.")
        shown = self.configurations[:_MOST_BARS]
        bars = [(f"{arm}{' (best)' if arm == self.best else ''}", part) for arm, part in shown]
        rest = self.configurations[_MOST_BARS:]
        if rest:
            bars.append((f"{len(rest)} others", sum(part for _, part in rest)))
        rungs = [(f"to step {step}", part) for step, part in self.rungs]
        return Picture(
            title, (self._panel(bars, "by configuration", 0), self._panel(rungs, "by the step that was granted", 1))
        )

    def _panel(self, bars: list[tuple[str, float]], title: str, color: int) -> Panel:
        y = [float(len(bars) - 1 - i) for i in range(len(bars))]
        shares = [100 * part / self.total for _, part in bars]
        mark = Bars(y, [0.0] * len(y), shares, category(color))
        ticks = [(at, label) for at, (label, _) in zip(y, bars, strict=True)]
        label = f"% of {number(float(self.total))} {self.unit}"
        return Panel((mark,), title, label, y_ticks=ticks, y_range=bar_range(len(bars)), rows=len(bars))


@Plot
def shares(study: Source, *, unit: str | None = None, **_: Unpack[FigureOptions]) -> Shares:
    """Return where the budget went: the share of each configuration, and of the grants up to each step.

    ``unit`` is by default the one with the largest share spent, but steps rather than evaluations if there are
    steps: every configuration has the same number of evaluations.
    """
    trace = trace_of(study)
    if unit is None and trace.unit == "evaluations" and (trace.history.max_resource or 1) > 1:
        unit = "steps"
    unit = check_unit(trace, unit)
    arms: dict[int, float] = {}
    rungs: dict[int, float] = {}
    for span in trace.spans:
        used = trace.charge_of(span, unit)
        arms[span.arm] = arms.get(span.arm, 0.0) + used
        rungs[span.goal] = rungs.get(span.goal, 0.0) + used
    best = trace.best()
    ordered = sorted(arms.items(), key=lambda item: (-item[1], item[0]))
    return Shares(
        trace.name,
        unit,
        sum(arms.values()),
        tuple(ordered),
        tuple(sorted(rungs.items())),
        best.arm if best else None,
        trace.why_no_runs(),
    )


def check_unit(trace: Trace, unit: str | None) -> str:
    if unit is not None and unit not in UNITS:
        raise BudgetError(f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    return unit or trace.unit
