"""The fold of the events: the history of a study, as methods read it.

Applying the events of a log one after another gives a :class:`History`. Every event is checked before it is applied, so
a log never holds an impossible event, such as a reading without a grant or an overdrawn budget.

Methods minimise. The one change of sign for ``mode="max"`` is here: ``readings`` are as the user gave them, ``losses``
are what methods see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

from shoestring.core.budget import Budget, Ledger
from shoestring.core.events import (
    Added,
    Adopted,
    Budgeted,
    Closed,
    Enqueued,
    Event,
    Granted,
    Noted,
    Opened,
    Released,
    Reported,
    Rule,
    Stopped,
)
from shoestring.core.front import FrontPoint, update_front
from shoestring.core.goals import Goals, goals
from shoestring.core.randomness import integer
from shoestring.core.readings import Reading
from shoestring.core.recommendation import Best, best_of, check_rule, update_feasible
from shoestring.core.trial_record import FAILED, Arm, TrialRecord, TrialState, date_of
from shoestring.core.validation import violation
from shoestring.errors import CorruptLog
from shoestring.spaces.codec import Codec, Config, deep_copy
from shoestring.spaces.serialisation import deserialise

T = TypeVar("T")

__all__ = ["FAILED", "Arm", "Cursor", "History", "TrialRecord", "TrialState"]


class History:
    """The state of a study after the events so far.

    ``trials``, ``arms``, ``grants``, ``readings`` (trial, step, loss) and ``closings`` (trials) are in log order and
    only grow, so that a cache can be updated by what is new (:class:`Cursor`). ``granted_after`` has for each grant how
    many readings and closings came before it, and ``spent_before`` what was spent by then, in the order of ``UNITS``.
    ``running`` has the running trials by index; ``codec`` translates configurations; ``max_resource`` and ``seed`` are
    those of the study. ``queue`` has the configurations that were enqueued and not tried yet, ``source_of`` who wants
    one if it is not the user, ``arm_of`` the arm of a configuration, both by its key, and ``given`` is how many arms
    the user gave. ``lowest`` is the reading with the lowest loss (trial, step, loss), ``spent_then`` what was spent
    when it came; ``stopped`` is why the study was stopped before its end, empty if it was not. With several objectives
    losses are those of the first, and ``front`` has the feasible readings that no other one dominates. ``note`` and
    ``tags`` are what the user says of the study.
    """

    opened: Opened
    ledger: Ledger

    def __init__(self) -> None:
        self.position = 0
        self.now = 0.0
        self.budget_from = ""  # the worker that changed the budget last
        self.trials: list[TrialRecord] = []
        self.arms: list[Arm] = []
        self.readings: list[tuple[TrialRecord, int, float]] = []
        self.closings: list[TrialRecord] = []
        self.running: dict[int, TrialRecord] = {}
        self.queue: list[Config] = []
        self.source_of: dict[Hashable, str] = {}
        self.arm_of: dict[Hashable, int] = {}
        self.given = 0
        self.grants: list[Granted] = []
        self.granted_after: list[int] = []
        self.spent_before: list[tuple[float, ...]] = []
        self.drift = 0.0
        self.stopped = ""
        self.lowest: tuple[TrialRecord, int, float] | None = None
        self.spent_then: dict[str, float] = {}
        self.front: list[FrontPoint] = []
        self.note = ""
        self.tags: tuple[str, ...] = ()
        self.weighed = ""  # how several objectives became one loss, for a view of them (core/weighing.py)
        self.unweighed: History | None = None  # the history that such a view is of
        self.compared: int | None = None
        self._caches: dict[Hashable, Any] = {}
        self._constants: dict[Hashable, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """``opened`` and ``ledger`` are there from the first event on."""
        if name in ("opened", "ledger"):
            raise CorruptLog("the log is empty: its first event must open the study")
        raise AttributeError(f"a history has no {name!r}")

    @property
    def seed(self) -> int:
        return self.opened.seed

    @property
    def max_resource(self) -> int | None:
        return self.opened.max_resource

    @cached_property
    def sign(self) -> float:
        return -1.0 if self.opened.mode == "max" else 1.0

    @cached_property
    def goals(self) -> Goals:
        return goals(self.opened.objectives, self.opened.constraints, self.opened.mode)

    @cached_property
    def codec(self) -> Codec:
        return Codec(deserialise(self.opened.space))

    def remaining(self) -> dict[str, float]:
        """Compute what is neither spent nor committed, in the units of the budget."""
        return {unit: self.ledger.free(unit) for unit in self.ledger.budget.limits()}

    def deadline(self) -> float | None:
        """The study's time when the budget's seconds end if something keeps running; None without such a limit."""
        if self.ledger.budget.seconds is None or not self.running:
            return None
        return self.now + max(self.ledger.free("seconds"), 0.0)

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """A cache of this history, made on first use; dropping it must change no decision."""
        if key not in self._caches:
            self._caches[key] = make()
        value: T = self._caches[key]
        return value

    def constant(self, key: Hashable, make: Callable[[], T]) -> T:
        """A cache of what follows from the opening of the study alone, which all views of this history share."""
        if key not in self._constants:
            self._constants[key] = make()
        value: T = self._constants[key]
        return value

    def drop_caches(self) -> None:
        self._caches.clear()
        self._constants.clear()

    def before(self, arm: int) -> History:
        """This history for a model that learns from the arms before this one; to it the others are running."""
        view = copy(self)
        view.compared = arm
        return view

    def best(self, rule: Rule | None = None) -> Best | None:
        """Find the recommendation of the study, by its own rule or by another one; None without a reading."""
        if rule is not None:
            check_rule(rule)
        return best_of(self, rule or self.opened.recommend)

    def affordable_steps(self, trial: TrialRecord | None) -> float:
        """Return how many steps a new grant can have at most; none once any unit is exhausted."""
        ledger = self.ledger
        if ledger.exhausted_unit():
            return 0
        if ledger.budget.cost is None:
            return ledger.free("steps")
        per_step = self.expected_cost(trial)
        by_cost = ledger.free("cost") / per_step if per_step > 0 else math.inf
        return min(ledger.free("steps"), by_cost)

    def expected_cost(self, trial: TrialRecord | None) -> float:
        """Compute the mean cost of a step: the trial's own so far, else the mean of all steps."""
        costs = [r.cost for r in trial.readings.values() if r.cost] if trial else []
        if trial and costs:
            return sum(costs) / trial.step
        return self.ledger.cost / self.ledger.steps if self.ledger.steps else 0.0

    def affordable_cost(self, trial: TrialRecord, step: int) -> float:
        """The most that a reading at this step may cost: its share of what was reserved, and what is free."""
        return _share(trial, step) + self.ledger.free("cost")

    def affords(self, trial: TrialRecord, step: int, cost: float) -> bool:
        """Tell whether the reading at this step may cost that much."""
        return self.ledger.allows("cost", cost, _share(trial, step))

    def apply(self, event: Event) -> None:
        """Check one event and apply it."""
        self.check(event)
        self.absorb(event)

    def restore(self, event: Event) -> None:
        """Apply an event from a storage, where it can be anything: all that is wrong with it is a ``CorruptLog``."""
        position = self.position
        try:
            self.apply(event)
            if isinstance(event, Opened):
                _ = self.codec, self.goals  # impossible values are refused here
                for planned in event.plan:
                    self.codec.check_stored(planned["config"])
            elif isinstance(event, (Granted, Enqueued, Added)) and event.config is not None:
                self.codec.check_stored(event.config)
        except CorruptLog:
            raise
        except Exception as error:
            raise CorruptLog(f"event {position} ({event.kind}) is malformed: {error}", position) from error

    def check(self, event: Event) -> None:
        """Raise :class:`CorruptLog` if the event cannot follow what has happened."""
        wrong = violation(self, event)
        if wrong:
            raise CorruptLog(f"event {self.position} ({event.kind}) cannot follow: {wrong}", self.position)

    def absorb(self, event: Event) -> None:
        """Apply an event that is known to be possible."""
        if self.running:
            self.ledger.seconds += event.at - self.now
        self.now, self.drift = event.at, event.drift
        self.position += 1
        match event:
            case Reported():
                self._report(event)
            case Granted():
                self._grant(event)
            case Closed():
                self._close(event)
            case Adopted():
                self._adopt(event)
            case Released():
                self.running[event.trial].hand_to("")
            case Stopped():
                self.stopped = event.reason
            case Enqueued():
                self.queue.append(deep_copy(event.config))
                if event.source:
                    self.source_of[Codec.key(event.config)] = event.source
            case Added():
                self._add(event)
            case Noted():
                self._note(event)
            case Opened():
                self.opened, self.ledger = event, Ledger(Budget(**event.budget))  # type: ignore[arg-type]
            case Budgeted():
                self.ledger.budget = Budget(**event.budget)  # type: ignore[arg-type]
                self.budget_from = event.worker

    def _grant(self, event: Granted) -> None:
        self.spent_before.append(tuple(self.ledger.spent().values()))
        if event.config is not None:
            self._new_arm(event.config, given=False).planned = event.planned
        if event.trial == len(self.trials):
            arm = self.arms[event.arm]
            trial = TrialRecord(
                event.trial, arm.index, event.replicate, event.seed, arm.config, event.worker, 0, event.until,
                event.reserved,
            )  # fmt: skip
            trial.started = date_of(event.at + event.drift)
            self.trials.append(trial)
            arm.trials.append(trial)
            self.ledger.evaluations += 1
        else:
            trial = self.trials[event.trial]
            trial.state, trial.reserved = "running", event.reserved
            trial.start, trial.until = event.start, event.until
            trial.hand_to(event.worker)
            trial.foreign, trial.ended = False, None
        trial.goal, trial.reason, trial.explanation = event.goal or event.until, event.reason, event.explanation or {}
        trial.granted, trial.reported_at = self.position - 1, event.at
        self.running[event.trial] = trial
        self.grants.append(event)
        self.granted_after.append(len(self.readings) + len(self.closings))
        self.ledger.committed_steps += event.until - event.start
        self.ledger.reserved += event.reserved

    def _new_arm(self, config: Mapping[str, Any], given: bool) -> Arm:
        key, waiting = Codec.key(config), len(self.queue)
        self.queue = [one for one in self.queue if Codec.key(one) != key]
        arm = Arm(len(self.arms), deep_copy(config), given or len(self.queue) < waiting)
        self.arms.append(arm)
        self.arm_of.setdefault(key, arm.index)
        self.given += arm.given
        return arm

    def _add(self, event: Added) -> None:
        known = self.arm_of.get(Codec.key(event.config))
        arm = self._new_arm(event.config, given=True) if known is None else self.arms[known]
        index, last = len(self.trials), event.readings[-1]["step"] if event.readings else 0
        seed = integer(self.seed, index, "trial")
        trial = TrialRecord(index, arm.index, len(arm.trials), seed, arm.config, "", 0, max(last, 1), 0.0, foreign=True)
        trial.goal, trial.granted, trial.reported_at = trial.until, self.position - 1, event.at
        trial.reason = f"added from {event.source}" if event.source else "added by hand"
        trial.state = "failed" if event.failed else "finished" if last >= (self.max_resource or 1) else "paused"
        trial.message = event.failed
        self.trials.append(trial)
        arm.trials.append(trial)
        for one in event.readings:
            values = [one.get(name) for name in ("low", "high", "cost")]
            metrics = {**one.get("metrics", {}), **one.get("details", {})}
            self._take_in(trial, one["step"], Reading(one["value"], *values, **metrics))
        if event.failed:
            trial.closed_after = len(self.readings)
            self.closings.append(trial)

    def _report(self, event: Reported) -> None:
        trial, ledger = self.running[event.trial], self.ledger
        used, share = event.step - trial.step, _share(trial, event.step)
        ledger.steps += used
        ledger.committed_steps -= used
        trial.reserved -= share
        ledger.reserved -= share
        ledger.cost += event.cost or 0.0
        trial.seconds += event.at - trial.reported_at
        trial.reported_at = event.at
        trial.attempts = 0
        metrics = {**(event.metrics or {}), **(event.details or {})}
        reading = Reading(event.value, event.low, event.high, event.cost, **metrics)
        self._take_in(trial, event.step, reading)
        if event.step == trial.until:
            trial.state = "finished" if event.step >= (self.max_resource or 1) else "paused"
            self._release(trial)

    def _take_in(self, trial: TrialRecord, step: int, reading: Reading) -> None:
        loss = self.sign * reading.value
        if self.goals.constraints:
            trial.violations[step] = self.goals.violations(reading, trial.violations.get(trial.step, ()))
        trial.readings[step], trial.losses[step] = reading, loss
        trial.recommended = update_feasible(self.opened.recommend, trial)
        trial.step = step  # last: the display's thread looks up the loss of this step
        self.readings.append((trial, step, loss))
        if not trial.is_feasible(step):
            return
        if self.goals.several:
            self.front = update_front(self.front, FrontPoint(self.goals.losses(reading), trial, step))
        if self.lowest is None or loss < self.lowest[2]:
            self.lowest, self.spent_then = self.readings[-1], self.ledger.spent()

    def _note(self, event: Noted) -> None:
        if event.trial is not None:
            trial = self.trials[event.trial]
            trial.notes += event.notes
            trial.attributes.update(event.attributes or {})
            return
        self.note = event.notes[0] if event.notes else self.note
        self.tags = self.tags if event.tags is None else tuple(event.tags)

    def _close(self, event: Closed) -> None:
        trial = self.running[event.trial]
        trial.state, trial.message, trial.closed_after = event.how, event.message, len(self.readings)
        self.ledger.steps += event.steps
        self.ledger.cost += event.cost
        self.ledger.seconds -= event.idle
        self.ledger.committed_steps -= trial.until - trial.step
        self.closings.append(trial)
        self._release(trial)

    def _release(self, trial: TrialRecord) -> None:
        self.ledger.reserved -= trial.reserved
        trial.reserved = 0.0
        trial.ended = date_of(self.now + self.drift)
        del self.running[trial.index]
        if not self.running:
            self.ledger.reserved = 0.0  # only rounding errors are left

    def _adopt(self, event: Adopted) -> None:
        trial = self.running[event.trial]
        again = [step for step in trial.readings if step > event.start]
        self.ledger.steps += trial.step - event.start + event.steps
        self.ledger.seconds -= event.idle
        self.ledger.cost += self.ledger.payable(sum(trial.readings[s].cost or 0.0 for s in again))
        trial.attempts, trial.reported_at = event.attempt, event.at
        trial.hand_to(event.worker)


def _share(trial: TrialRecord, step: int) -> float:
    """The share of a trial's reserved cost for its steps up to this one."""
    return trial.reserved * (step - trial.step) / (trial.until - trial.step)


class Cursor:
    """Reads what was added to an append-only list of a history since it was last read; one cursor for each list."""

    def __init__(self) -> None:
        self._seen = 0

    def new(self, entries: list[T]) -> list[T]:
        fresh, self._seen = entries[self._seen :], len(entries)
        return fresh
