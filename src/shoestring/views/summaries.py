"""Summaries of a study as records: the account of its budget, its failures, its turning points.

The report, the dashboard and the terminal show these; all of it follows from the log.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from shoestring.core.front import FrontPoint, update_front
from shoestring.core.history import FAILED, TrialRecord
from shoestring.views.formatting import number, values_line
from shoestring.views.progress import losses_that_count
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
    """The first grant, those that led to a new best value or a new member of the front (the last ``most`` of them),
    and the last grant.
    """
    if not trace.spans:
        return []
    bests = _new_bests(trace)
    chosen = sorted({0, len(trace.spans) - 1, *sorted(bests)[-most:]})
    limit, spent = trace.history.ledger.budget.limits()[trace.unit], trace.amounts_spent(trace.unit)
    points = []
    for index in chosen:
        span = trace.spans[index]
        outcome = bests.get(index, span.how)
        points.append(TurningPoint(float(spent[span.position]) / limit, span.trial, span.reason, outcome))
    return points


def _new_bests(trace: Trace) -> dict[int, str]:
    """The last improvement that each span brought, in words, by the number of the span."""
    place, found = 0, {}
    current: dict[int, int] = {}
    improvements = _joined_front(trace) if trace.history.goals.several else _lower_than_before(trace)
    for (trial, _, _), position, words in zip(trace.history.readings, trace.reported, improvements, strict=True):
        while place < len(trace.spans) and trace.spans[place].position < position:
            current[trace.spans[place].trial] = place
            place += 1
        if words and trial.index in current:  # no grant of this study led to a result from elsewhere
            found[current[trial.index]] = words
    return found


def _lower_than_before(trace: Trace) -> Iterator[str]:
    """For each reading the new best value, in words; empty if it is none."""
    best = math.inf
    for loss in losses_that_count(trace.history):
        yield f"new best: {number(trace.history.sign * loss)}" if loss < best else ""
        best = min(best, loss)


def _joined_front(trace: Trace) -> Iterator[str]:
    """For each reading its values, if it was on the front when it came; else empty."""
    goals, front = trace.history.goals, list[FrontPoint]()
    for trial, step, _ in trace.history.readings:
        reading = trial.readings[step]
        new = FrontPoint(goals.losses(reading), trial, step)
        front = update_front(front, new) if trial.is_feasible(step) else front
        joined = any(point is new for point in front)
        yield f"joined the front: {values_line(goals.values(reading))}" if joined else ""


def leaders(trace: Trace, most: int = 10) -> list[TrialRecord]:
    """The trials with the best recommended readings, best first; those that fulfil the constraints, if any does."""
    known = [trial for trial in trace.history.trials if trial.recommended is not None]
    known = [trial for trial in known if trial.recommended and trial.is_feasible(trial.recommended.step)] or known
    return sorted(known, key=lambda t: (t.recommended.loss, t.index) if t.recommended else (0.0, 0))[:most]
