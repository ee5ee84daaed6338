"""The events by which a trial reports, ends or is taken over, and a budget changes, as they follow from the history."""

from __future__ import annotations

from dataclasses import replace

from shoestring.core.budget import Budget
from shoestring.core.events import Adopted, Budgeted, Closed, Closing, Reported
from shoestring.core.history import History, TrialRecord
from shoestring.core.readings import Reading, check_reading, numbers_and_details
from shoestring.errors import BudgetError, ReadingError


def make_reported(
    history: History, trial: TrialRecord, step: int, given: object, overdue: bool, at: float, drift: float
) -> Reported | Closed:
    """The reading of a step, or the end of the trial if the reading cannot be used or paid."""

    def end(how: Closing, message: str, cost: float = 0.0) -> Closed:
        return make_closed(history, trial, how, message, step - trial.step, at, drift, cost)

    if overdue:
        return end("stopped", "the budget's time ended during this step")
    try:
        reading = check_reading(given, history.goals)
    except ReadingError as error:
        return end("failed", str(error), _cost_of(given))
    if reading.cost is None and history.ledger.budget.limited == ("cost",):
        return end("failed", "the budget is a cost and the reading has none: give Reading(value, cost=...)")
    if reading.cost and not history.affords(trial, step, reading.cost):
        most = history.affordable_cost(trial, step)
        message = f"the reading {reading.value:g} was dropped: it cost {reading.cost:g} and {most:g} was left"
        return end("stopped", message, most)
    numbers, details = numbers_and_details(reading)
    return Reported(
        at, trial.index, step, reading.value, reading.low, reading.high, reading.cost, numbers, details, drift
    )


def _cost_of(given: object) -> float:
    """The cost of a reading whose value cannot be used, if it has one."""
    if not isinstance(given, Reading) or given.cost is None:
        return 0.0
    try:
        return check_reading(Reading(0.0, cost=given.cost)).cost or 0.0
    except ReadingError:
        return 0.0


def make_closed(
    history: History,
    trial: TrialRecord,
    how: Closing,
    message: str,
    steps: int,
    at: float,
    drift: float,
    cost: float = 0.0,
    idle: float = 0.0,
) -> Closed:
    """The end of a trial, charged with what it used since its last reading as far as the budget can pay."""
    steps = min(steps, trial.until - trial.step)
    return Closed(at, trial.index, how, message, steps, history.ledger.payable(cost, trial.reserved), idle, drift)


def make_adopted(
    history: History, trial: TrialRecord, worker: str, start: int, retries: int, at: float, drift: float, idle: float
) -> Adopted | Closed:
    """The adoption of a running trial, which runs from ``start`` again, or its end if that is not possible.

    It is lost if its process was lost more than ``retries`` times at the same step, or if the budget cannot pay for the
    steps to run again. ``idle`` is how long nothing has been running.
    """
    was_lost, again = trial.worker not in (worker, ""), trial.step - start
    if was_lost and trial.attempts >= retries:
        times = "once" if trial.attempts == 0 else f"{trial.attempts + 1} times"
        message = f"the process that ran it was lost {times} at step {trial.step + 1}"
        return make_closed(history, trial, "lost", message, 1, at, drift, idle=idle)
    if not history.ledger.allows("steps", again):
        message = f"it would have to run {again} steps again, which the budget cannot pay"
        return make_closed(history, trial, "lost", message, 0, at, drift, idle=idle)
    message = f"the process of {trial.worker} has died" if was_lost else ""
    return Adopted(at, trial.index, worker, start, idle, trial.attempts + was_lost, message, 0, drift)


def make_budgeted(history: History, budget: Budget, worker: str) -> Budgeted:
    """Another budget, which pays for what is already spent or committed."""
    wanted = replace(history.ledger, budget=budget)
    unit = wanted.exceeded_unit()
    if unit:
        used = getattr(budget, unit) - wanted.free(unit)
        raise BudgetError(
            f"the study has already spent or committed {used:g} {unit}, so its budget cannot become {budget}; "
            "give more, or look at it with Study.load"
        )
    return Budgeted(history.now, budget.limits(), worker, history.drift)
