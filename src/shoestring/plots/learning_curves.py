"""Learning curves: how they ended, and what was forecast of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoestring.core.curve_beliefs import CurveBelief, HasBelief
from shoestring.core.history import History, TrialRecord
from shoestring.errors import MethodError
from shoestring.methods import Forecast
from shoestring.methods.registry import rebuilt
from shoestring.plots.picture import Band, Dots, Line, Mark, Panel, Picture, joined
from shoestring.plots.plot import Plot
from shoestring.plots.style import DASHES, FATES, category, limits, scale
from shoestring.plots.trace import Source, Trace, trace_of
from shoestring.ui.formatting import method_name


@dataclass(frozen=True)
class Curve:
    trial: int
    fate: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Curves:
    """The readings of the trials, in log order; of very many the ``best`` one and an even choice are shown."""

    name: str
    curves: tuple[Curve, ...]
    total: int
    best: int | None
    note: str = ""
    by_trial: bool = False

    def picture(self) -> Picture:
        title = f"{self.name}: learning curves"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale([value for curve in self.curves for value in curve.values])
        marks = self._each() if self.by_trial else [mark for fate in FATES for mark in self._marks(fate)]
        leading = next((curve for curve in self.curves if curve.trial == self.best), None)
        if leading is not None and not self.by_trial:
            marks.append(Line(leading.steps, leading.values, "#000000", f"best: trial {leading.trial}", width=2.2))
        shown = "" if len(self.curves) == self.total else f"{len(self.curves)} of {self.total} trials"
        return Picture(title, (Panel(marks, shown, f"step{axis.remark}", "value", y_log=axis.log, y_range=axis.range),))

    def _each(self) -> list[Mark]:
        """One line for each trial, where a few were chosen."""
        found: list[Mark] = []
        for i, curve in enumerate(self.curves):
            label = f"trial {curve.trial} ({curve.fate})"
            found.append(Line(curve.steps, curve.values, category(i), label, DASHES[i % 3], 2.0))
            found.append(Dots(curve.steps, curve.values, category(i)))
        return found

    def _marks(self, fate: str) -> list[Mark]:
        chosen = [curve for curve in self.curves if curve.fate == fate]
        if not chosen:
            return []
        style = FATES[fate]
        x, y = joined((curve.steps, curve.values) for curve in chosen)
        ends = [(curve.steps[-1], curve.values[-1]) for curve in chosen]
        faint = 0.85 if len(self.curves) < 60 else 0.55
        return [
            Line(x, y, style.color, f"{fate} ({len(chosen)})", style.dash, 1.2, faint),
            Dots([x for x, _ in ends], [y for _, y in ends], style.color, "", style.shape, 3.5),
        ]


@Plot
def curves(study: Source, *, most: int = 500, trials: Sequence[int] | None = None) -> Curves:
    """Learning curves of all trials, drawn by how they ended: finished, paused, stopped, failed, lost or running.

    ``trials`` chooses a few, which are then drawn one by one.
    """
    trace = trace_of(study)
    if trials is not None:
        return _chosen(trace, trials)
    history, best = trace.history, trace.history.best()
    known = [trial for trial in history.trials if trial.readings]
    every = -(-len(known) // most) or 1
    chosen = [trial for i, trial in enumerate(known) if i % every == 0 or (best and trial.index == best.trial)]
    found = tuple(_curve(trial) for trial in chosen)
    return Curves(trace.name, found, len(known), best.trial if best else None, trace.lack())


def _chosen(trace: Trace, indices: Sequence[int]) -> Curves:
    trials = trace.history.trials
    for index in indices:
        if not 0 <= index < len(trials):
            raise MethodError(f"there is no trial {index!r}; the study has {len(trials)}, counted from 0")
    found = tuple(_curve(trials[index]) for index in indices if trials[index].readings)
    note = "" if found else f"There is no reading of {'this trial' if len(indices) == 1 else 'these trials'} yet."
    return Curves(trace.name, found, len(found), None, note, by_trial=True)


def _curve(trial: TrialRecord) -> Curve:
    values = tuple(reading.value for reading in trial.readings.values())
    return Curve(trial.index, trial.state, tuple(trial.readings), values)


@dataclass(frozen=True)
class Fan:
    """The forecast of one curve from its readings before the moment: median, and the middle 80 % at later steps.

    A bound is infinite where the forecast only says "better than all readings by then", or worse.
    """

    trial: int
    known: tuple[tuple[int, float], ...]
    later: tuple[tuple[int, float], ...]
    steps: tuple[int, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class ForecastFans:
    """Forecasts of the leading curves after ``position`` events, when ``share`` of the budget was spent.

    ``source`` says whose forecasts they are if the method of the study has none of its own.
    """

    name: str
    position: int
    share: float
    fans: tuple[Fan, ...]
    note: str = ""
    source: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: forecasts after {100 * self.share:.0f} % of the budget"
        if self.note:
            return Picture(title, note=self.note)
        return Picture(title, tuple(self._panel(fan) for fan in self.fans))

    def _panel(self, fan: Fan) -> Panel:
        blue, orange = category(0), category(1)
        values = [*fan.low, *fan.median, *fan.high, *(value for _, value in (*fan.known, *fan.later))]
        finite = [value for value in values if math.isfinite(value)]
        log = min(finite) > 0 and max(finite) > 5 * min(finite)
        bottom, top = limits(Panel((Dots([0.0] * len(finite), finite, blue),), y_log=log), "y")
        band = "middle 80 % of the forecast"
        marks: list[Mark] = [
            Band(fan.steps, np.maximum(fan.low, bottom).tolist(), np.minimum(fan.high, top).tolist(), blue, band),
            Line(fan.steps, fan.median, blue, f"median {self.source or 'of the forecast'}", "dash"),
            Line(*_xy(fan.known), blue, "known then", width=2.2),
            Dots(*_xy(fan.known), blue, size=4.5),
        ]
        if fan.later:
            marks.append(Line(*_xy((fan.known[-1], *fan.later)), orange, "how it came out", width=2.2))
            marks.append(Dots(*_xy(fan.later), orange, shape="square"))
        return Panel(
            marks, f"trial {fan.trial}", "step", "value", x_log=True, y_log=log, y_range=(float(bottom), float(top))
        )


def _xy(points: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    return [float(x) for x, _ in points], [y for _, y in points]


@Plot
def forecast(study: Source, *, at: float = 0.5, most: int = 4) -> ForecastFans:
    """Forecast fan: what the method believed when the share ``at`` of the budget was spent about the ``most`` leading
    trials that had not ended, and how they came out.

    The method is asked again with the log up to that moment. For one that forecasts no curves, the process of
    "forecast" is shown instead, and the picture says so.
    """
    if not 0 <= at <= 1:
        raise MethodError(f"at is {at!r}; it must be a share of the budget, from 0 to 1")
    trace = trace_of(study)
    limit = trace.history.ledger.budget.limits()[trace.unit]
    position = int(np.searchsorted(trace.spent(trace.unit), at * limit, side="right"))
    then = History()
    for event in trace.events()[:position]:
        then.restore(event)
    leading = _leading(then)
    note = trace.lack() or _reason_against(leading, trace.history)
    if note:
        return ForecastFans(trace.name, position, at, (), note)
    method, source = _forecaster(trace.history)
    beliefs = zip(leading, method.belief(then, leading), strict=True)
    fans = [_fan(trace.history, trial, belief) for trial, belief in beliefs if belief.steps][:most]
    note = "" if fans else "The method had no forecast of a curve at that moment: it knew too little."
    return ForecastFans(trace.name, position, at, tuple(fans), note, source)


def _leading(then: History) -> list[TrialRecord]:
    """The trials that could go on at that moment, the best first."""
    top = then.max_resource or 1
    open_ = [t for t in then.trials if t.losses and t.state in ("running", "paused") and t.step < top]
    return sorted(open_, key=lambda trial: (min(trial.losses.values()), trial.index))


def _reason_against(leading: Sequence[TrialRecord], history: History) -> str:
    if (history.max_resource or 1) < 2:
        return "There are no curves to forecast: each trial has a single reading."
    if not leading:
        return "There was no curve to forecast at that moment: no trial was between its first and its last step."
    return ""


def _forecaster(history: History) -> tuple[HasBelief, str]:
    """The method of the study if it forecasts curves, else the process of forecast, and words that say so."""
    description = history.opened.method
    try:
        method = rebuilt(description)
    except MethodError:
        method = None
    if isinstance(method, HasBelief):
        return method, ""
    why = "is unknown" if method is None else "has none"
    # A forecast of a trial that was started needs no pool of others.
    return Forecast(pool=1), f"by the process of forecast: {method_name(description)} {why}"


def _fan(history: History, then: TrialRecord, belief: CurveBelief) -> Fan:
    """The belief about a trial as values of the user, from its best reading by then on."""
    sign, now = history.sign, history.trials[then.index]
    quantiles = zip(belief.low, belief.median, belief.high, strict=True)
    bounds = [(sign * min(then.losses.values()),) * 3, *(sorted(sign * loss for loss in row) for row in quantiles)]
    low, median, high = zip(*bounds, strict=True)
    known = tuple((step, reading.value) for step, reading in then.readings.items())
    later = tuple((step, reading.value) for step, reading in now.readings.items() if step not in then.readings)
    return Fan(then.index, known, later, (then.step, *belief.steps), low=low, median=median, high=high)
