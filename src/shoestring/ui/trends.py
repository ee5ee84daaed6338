"""Sparklines of a study, which ``status`` and ``watch`` show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoestring.plots.trace import Trace
from shoestring.ui.formatting import amount, duration, number, sparkline, with_unit


def trend_rows(trace: Trace) -> Iterator[tuple[str, str]]:
    """Sparklines of the best value so far and of what is left of the budget, each with its ends."""
    losses = [loss for _, _, loss in trace.history.readings]
    if len(losses) < 2:
        return
    best = trace.history.sign * np.minimum.accumulate(losses)
    yield "best so far", f"{number(float(best[0]))} {sparkline(best.tolist())} {number(float(best[-1]))}"
    unit = trace.unit
    left = trace.history.ledger.budget.limits()[unit] - trace.spent(unit)
    rows = _evenly(trace.times().tolist(), left.tolist())
    passed = duration(float(trace.times()[-1]))
    rest = with_unit(unit, max(left[-1], 0.0))
    yield "burn-down", f"{amount(unit, left[0])} {sparkline(rows)} {rest}, {passed}"


def _evenly(times: list[float], values: list[float], count: int = 40) -> list[float]:
    """The values at even distances in time."""
    at = np.linspace(0.0, times[-1], count)
    return [values[i] for i in np.searchsorted(times, at, side="right") - 1]
