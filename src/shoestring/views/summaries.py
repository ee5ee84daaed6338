"""Summaries of a study as records: the account of its budget, its failures, its turning points.

The report, the dashboard and the terminal show these; all of it follows from the log.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from shoestring.core.history import FAILED, TrialRecord
from shoestring.views.formatting import number
from shoestring.views.states import STATES
from shoestring.views.trace import Trace

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Account:
    """One unit of the budget: spent on trials by how they ended, reserved for running ones, and left.

    ``limit`` and ``left`` are None where the budget has no limit in this unit.
    """

    unit: str
    spent_on: dict[str, float]
    spent: float
    committed: float
    limit: float | None
    left: float | None


def accounts(trace: Trace) -> list[Account]:
    """Account for every unit that is limited or was used; the parts add up to ``spent``."""
    ledger, limits = trace.history.ledger, trace.history.ledger.budget.limits()
    found = []
    for unit, spent in ledger.spent().items():
        if unit not in limits and not (spent and unit != "seconds"):
            continue
        parts: dict[str, float] = defaultdict(float)
        for span in trace.spans:
            parts[trace.history.trials[span.trial].state] += trace.charge_of(span, unit)
        on: dict[str, float] = {state: parts[state] for state in STATES if parts[state]}
        committed = {"steps": float(ledger.committed_steps), "cost": ledger.reserved}.get(unit, 0.0)
        left = ledger.free(unit) if unit in limits else None
        found.append(Account(unit, on, spent, committed, limits.get(unit), left))
    return found


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed with the same message, but for the numbers in it."""

    message: str
    trials: tuple[int, ...]


def failure_groups(trace: Trace) -> list[FailureGroup]:
    """The failures by message, the most frequent first."""
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for trial in trace.history.trials:
        if trial.state in FAILED:
            groups[_NUMBER.sub("#", trial.message)].append(trial)
    found = [FailureGroup(trials[0].message, tuple(trial.index for trial in trials)) for trials in groups.values()]
    return sorted(found, key=lambda group: (-len(group.trials), group.trials[0]))


@dataclass(frozen=True)
class TurningPoint:
    """A grant that mattered, what the method said, and what came of it; ``share`` of the budget was spent by then."""

    share: float
    trial: int
    reason: str
    outcome: str


def turning_points(trace: Trace, most: int = 12) -> list[TurningPoint]:
    """The first grant, those that led to a new best value (the last ``most`` of them) and the last grant."""
    if not trace.spans:
        return []
    bests = _new_bests(trace)
    chosen = sorted({0, len(trace.spans) - 1, *sorted(bests)[-most:]})
    limit, spent = trace.history.ledger.budget.limits()[trace.unit], trace.amounts_spent(trace.unit)
    points = []
    for index in chosen:
        span = trace.spans[index]
        outcome = f"new best: {number(bests[index])}" if index in bests else span.how
        points.append(TurningPoint(float(spent[span.position]) / limit, span.trial, span.reason, outcome))
    return points


def _new_bests(trace: Trace) -> dict[int, float]:
    """The last new best value that each span brought, by the number of the span."""
    best, place, found = float("inf"), 0, {}
    current: dict[int, int] = {}
    for (trial, _, loss), position in zip(trace.history.readings, trace.reported, strict=True):
        while place < len(trace.spans) and trace.spans[place].position < position:
            current[trace.spans[place].trial] = place
            place += 1
        if loss < best:
            best = loss
            if trial.index in current:  # no grant of this study led to a result from elsewhere
                found[current[trial.index]] = trace.history.sign * loss
    return found


def leaders(trace: Trace, most: int = 10) -> list[TrialRecord]:
    """The trials with the best recommended readings, best first."""
    known = [trial for trial in trace.history.trials if trial.recommended is not None]
    return sorted(known, key=lambda t: (t.recommended.loss, t.index) if t.recommended else (0.0, 0))[:most]
