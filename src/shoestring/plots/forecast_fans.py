"""Forecasts of learning curves at a moment of the study, and how the curves came out.

Forecasts need a method and its models, which the other plots do without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from shoestring.core.history import History, TrialRecord
from shoestring.errors import MethodError
from shoestring.methods import Forecast
from shoestring.methods.curve_beliefs import CurveBelief, HasBelief
from shoestring.methods.registry import rebuild_if_known
from shoestring.plots.picture import Band, Dots, Line, Mark, Panel, Picture, bound
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import category, limits
from shoestring.views.formatting import method_name
from shoestring.views.trace import Source, trace_of


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

    ``source`` says whose forecasts they are if the method of the study makes no forecasts.
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
        finite = [bound(value) for value in values if math.isfinite(value)]
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
def forecast(study: Source, *, at: float = 0.5, most: int = 4, **_: Unpack[FigureOptions]) -> ForecastFans:
    """Forecast fan: the beliefs of the method when the share ``at`` of the budget was spent about the ``most`` leading
    trials that had not ended, and how they came out.

    The method is asked again with the log up to that moment. For one that forecasts no curves, the process of
    "forecast" is shown instead, and the picture says so.
    """
    if not 0 <= at <= 1:
        raise MethodError(f"at is {at!r}; it must be a share of the budget, from 0 to 1")
    trace = trace_of(study)
    limit = trace.history.ledger.budget.limits()[trace.unit]
    position = int(np.searchsorted(trace.amounts_spent(trace.unit), at * limit, side="right"))
    then = History()
    for event in trace.events()[:position]:
        then.restore(event)
    leading = _leading(then)
    note = trace.why_empty() or _reason_against(leading, trace.history)
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
    method = rebuild_if_known(description)
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
