"""The progress of a study, and when it will probably end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shoestring.core.history import History
from shoestring.views.formatting import amount, duration, moment, with_unit


@dataclass(frozen=True)
class Progress:
    """One unit of the budget: what was spent of its limit, in numbers and in words."""

    unit: str
    spent: float
    limit: float

    @property
    def words(self) -> str:
        share = min(100 * self.spent / self.limit, 100)
        return f"{amount(self.unit, self.spent)} of {with_unit(self.unit, self.limit)} spent ({share:.0f} %)"


def progress_of(history: History) -> list[Progress]:
    """The progress in every unit of the budget."""
    spent, limits = history.ledger.spent(), history.ledger.budget.limits()
    return [Progress(unit, float(spent[unit]), float(limit)) for unit, limit in limits.items()]


def seconds_left(history: History) -> float | None:
    """Seconds until the first unit is used up, at the rate since the start; None if nothing runs, or is known."""
    elapsed = history.ledger.seconds
    if not history.running or elapsed <= 0:
        return None
    left = [(unit.limit - unit.spent) * elapsed / unit.spent for unit in progress_of(history) if unit.spent > 0]
    return min(left, default=None)


def end_line(history: History) -> str:
    """Return when the study will probably end, in words; empty if that cannot be said."""
    left = seconds_left(history)
    if left is None:
        return ""
    end = moment(history.now + history.drift + left, "%Y-%m-%d %H:%M UTC")
    return f"about {duration(max(left, 1.0))} left, until {end}"


def losses_that_count(history: History) -> list[float]:
    """The loss of each reading in log order; infinite where it violates a constraint, so that it is never the best."""
    return [loss if trial.is_feasible(step) else math.inf for trial, step, loss in history.readings]


def best_so_far(history: History, most: int = 40) -> list[float]:
    """The best value after evenly chosen readings, the last one included, from the first one that counts."""
    values: list[float] = []
    lowest = math.inf
    losses = losses_that_count(history)
    places = {(i + 1) * len(losses) // most - 1 for i in range(most)} if len(losses) > most else None
    for place, loss in enumerate(losses):
        lowest = min(lowest, loss)
        if lowest < math.inf and (places is None or place in places):
            values.append(history.sign * lowest)
    return values
