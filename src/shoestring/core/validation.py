"""Validation: the checks that every event passes before it is applied to a history."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from shoestring.core.events import (
    Added,
    Adopted,
    Closed,
    Closing,
    Enqueued,
    Event,
    Granted,
    Noted,
    Opened,
    Released,
    Reported,
)
from shoestring.core.goals import goals
from shoestring.core.recommendation import RULES
from shoestring.errors import MethodError
from shoestring.spaces.codec import Codec

if TYPE_CHECKING:
    from shoestring.core.history import History, TrialRecord


def violation(history: History, event: Event) -> str | None:
    """Say which rule an event breaks if it follows what has happened; None if it breaks none."""
    if (history.position == 0) != isinstance(event, Opened):
        return "a study is opened once, by its first event"
    if isinstance(event, Opened):
        return _violation_by_opening(event)
    if event.at < history.now:
        return f"it is stamped {event.at}, before the event in front of it at {history.now}"
    match event:
        case Reported():
            return _violation_by_report(history, event)
        case Granted():
            return _violation_by_grant(history, event)
        case Closed() | Adopted() | Released():
            return _violation_by_change(history, event)
        case Enqueued():
            key = Codec.key(event.config)
            if key in history.arm_of or key in map(Codec.key, history.queue):
                return "the configuration is known already"
        case Added():
            return _violation_by_result(history, event)
        case Noted(trial=index) if index is not None and index >= len(history.trials):
            return f"there is no trial {index}"
    return None


def _violation_by_opening(event: Opened) -> str | None:
    if event.recommend not in RULES:
        return f"it recommends by {event.recommend!r}, and the rules are {', '.join(RULES)}"
    if event.at < 0:
        return f"it is stamped {event.at}"
    try:
        first = goals(event.objectives, event.constraints, event.mode).signs[0]
    except MethodError as error:
        return str(error)
    return None if (first < 0) == (event.mode == "max") else "its mode differs from the mode of the first objective"


def _violation_by_numbers(history: History, value: float, given: Mapping[str, Any], cost: float | None) -> str | None:
    """The numbers by which a study judges a reading are there, and finite."""
    goals = history.goals
    known = {"cost": cost, "value": value, **given}
    for name in (*goals.names, *(constraint.name for constraint in goals.constraints)):
        number = known.get(name)
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            return f"its {name} is {number!r}, not a finite number"
    return None if known[goals.names[0]] == value else f"its value differs from {goals.names[0]!r}"


def _violation_by_result(history: History, event: Added) -> str | None:
    steps, last = [one["step"] for one in event.readings], history.max_resource or 1
    if steps != sorted(set(steps)) or (steps and not 1 <= steps[0] <= steps[-1] <= last):
        return f"the steps of its readings are {steps}, which do not increase from 1 to at most {last}"
    if not steps and not event.failed:
        return "it has no reading and did not fail"
    if not all(math.isfinite(one["value"]) for one in event.readings):
        return "one of its readings is not finite"
    if history.goals.named or history.goals.constraints:
        for one in event.readings:
            wrong = _violation_by_numbers(history, one["value"], one.get("metrics", {}), one.get("cost"))
            if wrong:
                return wrong
    return None


def _violation_by_grant(history: History, event: Granted) -> str | None:
    ledger, new = history.ledger, event.trial == len(history.trials)
    if not new and not (0 <= event.trial < len(history.trials) and history.trials[event.trial].state == "paused"):
        return f"trial {event.trial} is neither new nor paused"
    if event.start != (0 if new else history.trials[event.trial].step) or event.until <= event.start:
        return f"trial {event.trial} cannot be granted steps {event.start} to {event.until}"
    if (event.arm == len(history.arms)) != (event.config is not None) or not 0 <= event.arm <= len(history.arms):
        return f"arm {event.arm} must come with a configuration exactly when it is new"
    if not ledger.allows("steps", event.until - event.start):
        return f"{event.until - event.start} steps are granted and {ledger.free('steps'):g} are left"
    if new and not ledger.allows("evaluations", 1):
        return "no evaluation is left"
    if not ledger.allows("cost", event.reserved):
        return f"a cost of {event.reserved:g} is set aside and {ledger.free('cost'):g} is left"
    return _violation_by_time(history, event.at, 0.0)


def _violation_by_report(history: History, event: Reported) -> str | None:
    trial = history.running.get(event.trial)
    if trial is None:
        return f"trial {event.trial} is not running"
    if not trial.step < event.step <= trial.until:
        return f"step {event.step} of trial {event.trial} is outside of its grant {trial.step + 1} to {trial.until}"
    if not math.isfinite(event.value):
        return f"the value {event.value} is not finite"
    if event.cost and not history.affords(trial, event.step, event.cost):
        return f"a cost of {event.cost:g} is more than is left"
    if history.goals.named or history.goals.constraints:
        wrong = _violation_by_numbers(history, event.value, event.metrics or {}, event.cost)
        if wrong:
            return wrong
    return _violation_by_time(history, event.at, 0.0)


def _violation_by_change(history: History, event: Closed | Adopted | Released) -> str | None:
    trial = history.running.get(event.trial)
    if trial is None:
        return f"trial {event.trial} is not running"
    if isinstance(event, Released):
        return _violation_by_time(history, event.at, 0.0)
    if isinstance(event, Adopted):
        return _violation_by_adoption(history, event, trial)
    if event.how not in get_args(Closing):
        return f"a trial cannot end as {event.how!r}"
    if not 0 <= event.steps <= trial.until - trial.step:
        return f"{event.steps} steps cannot have been used since step {trial.step}"
    if not history.ledger.allows("cost", event.cost, trial.reserved):
        return f"a cost of {event.cost:g} is more than is left"
    return _violation_by_time(history, event.at, event.idle)


def _violation_by_adoption(history: History, event: Adopted, trial: TrialRecord) -> str | None:
    if not 0 <= event.start <= trial.step:
        return f"trial {event.trial} is at step {trial.step} and cannot be taken up at {event.start}"
    if not trial.attempts <= event.attempt <= trial.attempts + 1 or event.steps not in (0, 1):
        return f"attempt {event.attempt} of {event.steps} steps cannot follow attempt {trial.attempts}"
    again = trial.step - event.start + event.steps
    if not history.ledger.allows("steps", again):
        return f"{again} steps would be run again and {history.ledger.free('steps'):g} are left"
    return _violation_by_time(history, event.at, event.idle)


def _violation_by_time(history: History, at: float, idle: float) -> str | None:
    if idle and not 0 < idle <= at - history.now:
        return f"nothing ran for {idle:g} s, and it comes {at - history.now:g} s later"
    if not history.running or history.ledger.budget.seconds is None:
        return None
    if not history.ledger.allows("seconds", at - history.now - idle):
        return f"it comes {at - history.now - idle:g} s later and {history.ledger.free('seconds'):g} s are left"
    return None
