"""Sparklines of a study, which ``status`` and ``watch`` show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoestring.core.budget import UNITS
from shoestring.core.history import History
from shoestring.views.formatting import amount, duration, number, sparkline, with_unit
from shoestring.views.progress import losses_that_count

_POINTS = 40


def leading_unit(history: History) -> str:
    """Find the unit of the budget with the largest share spent; steps if there is a tie."""
    ledger = history.ledger
    spent = {unit: ledger.spent()[unit] / limit for unit, limit in ledger.budget.limits().items()}
    return max(spent, key=lambda unit: spent[unit])


def trend_rows(history: History) -> Iterator[tuple[str, str]]:
    """Sparklines of the best value so far and of what is left of the budget, each with its ends."""
    if len(history.readings) < 2:
        return
    lowest = np.minimum.accumulate(losses_that_count(history))
    best = (history.sign * lowest[np.isfinite(lowest)]).tolist()
    if best:
        label = f"best {history.goals.names[0]}" if history.goals.several else "best so far"
        yield label, f"{number(best[0])} {sparkline(best)} {number(best[-1])}"
    if history.grants:
        yield "burn-down", _burn_down(history)


def _burn_down(history: History) -> str:
    """Compute what was left of the budget at each grant, and what is left now."""
    unit = leading_unit(history)
    limit, place = history.ledger.budget.limits()[unit], UNITS.index(unit)
    left = [limit - row[place] for row in history.spent_before] + [limit - history.ledger.spent()[unit]]
    times = [grant.at - history.grants[0].at for grant in history.grants] + [history.now - history.grants[0].at]
    line = np.interp(np.linspace(0.0, times[-1], _POINTS), times, left).tolist()
    rest = with_unit(unit, max(left[-1], 0.0))
    return f"{amount(unit, left[0])} {sparkline(line)} {rest}, {duration(times[-1])}"
