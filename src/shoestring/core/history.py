"""The fold of the events: the history of a study, as methods read it.

Applying the events of a log one after another gives a :class:`History`. Every event is checked before it is applied, so
a log never holds an impossible event, such as a reading without a grant or an overdrawn budget.

Methods minimise. The one change of sign for ``mode="max"`` is here: ``readings`` are as the user gave them, ``losses``
are what methods see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

from shoestring.core.budget import Budget, Ledger
from shoestring.core.events import Adopted, Budgeted, Closed, Closing, Event, Granted, Opened, Reported, Rule
from shoestring.core.readings import Reading
from shoestring.core.recommendation import RULES, Best, Recommended, best_of, check_rule, updated
from shoestring.errors import CorruptLog
from shoestring.spaces.codec import Codec, Config
from shoestring.spaces.serialisation import deserialised

T = TypeVar("T")
TrialState = Literal["running", "paused", Closing]


@dataclass(slots=True, eq=False)
class TrialRecord:
    """One run of a configuration: its grants and readings. Read-only for users; the log writes it.

    ``state`` is running, paused, finished, failed, lost or stopped. ``step`` is how far it is, ``until`` how far its
    last grant goes, and ``goal`` how far that was meant to go before it was cut to what the budget could pay.
    ``explanation`` is what that grant was decided on, for people to read. ``recommended`` is what the study's rule
    makes of the readings, ``seconds`` is how long its steps took, and ``closed_after`` how many readings the study had
    when it ended.
    """

    index: int
    arm: int
    replicate: int
    seed: int
    config: Config
    worker: str
    start: int
    until: int
    reserved: float
    state: TrialState = "running"
    step: int = 0
    message: str = ""
    readings: dict[int, Reading] = field(default_factory=dict)
    losses: dict[int, float] = field(default_factory=dict)
    goal: int = 0
    explanation: Mapping[str, Any] = field(default_factory=dict)
    granted: int = 0
    reported_at: float = 0.0
    closed_after: int = 0
    seconds: float = 0.0
    recommended: Recommended | None = None

    def loss(self, step: int) -> float | None:
        """The loss at a step; a trial that ended early keeps its last one. None if not there yet."""
        if step in self.losses:
            return self.losses[step]
        if self.step < step and self.state != "finished":
            return None
        return next((self.losses[s] for s in sorted(self.losses, reverse=True) if s <= step), None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The readings as plain rows; a parameter or metric called like a column of ours gets a longer name."""
        none: Reading = Reading(None)  # type: ignore[arg-type]
        for step, reading in self.readings.items() or [(0, none)]:
            row: dict[str, Any] = {
                "trial": self.index,
                "arm": self.arm,
                "replicate": self.replicate,
                "state": self.state,
                "step": step,
                "value": reading.value,
                "cost": reading.cost,
                "seed": self.seed,
            }
            for kind, values in (("metric", reading.metrics), ("config", self.config)):
                row |= {f"{kind}.{name}" if name in row else name: value for name, value in values.items()}
            yield row


@dataclass(slots=True, eq=False)
class Arm:
    """One configuration, and the trials that ran it."""

    index: int
    config: Config
    trials: list[TrialRecord] = field(default_factory=list)


class History:
    """The state of a study after the events so far.

    ``trials``, ``arms``, ``grants``, ``readings`` (trial, step, loss) and ``closings`` (trials) are in log order and
    only grow, so that a cache can be updated by what is new (:class:`Cursor`). ``running`` has the running trials by
    index; ``codec`` translates configurations; ``max_resource`` and ``seed`` are those of the study.
    """

    opened: Opened
    ledger: Ledger

    def __init__(self) -> None:
        self.position = 0
        self.now = 0.0
        self.trials: list[TrialRecord] = []
        self.arms: list[Arm] = []
        self.readings: list[tuple[TrialRecord, int, float]] = []
        self.closings: list[TrialRecord] = []
        self.running: dict[int, TrialRecord] = {}
        self.grants: list[Granted] = []
        self._caches: dict[Hashable, Any] = {}

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
    def codec(self) -> Codec:
        return Codec(deserialised(self.opened.space))

    def remaining(self) -> dict[str, float]:
        """What is neither spent nor committed, in the units of the budget."""
        return {unit: self.ledger.free(unit) for unit in self.ledger.budget.limits()}

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """A cache of this history, made on first use; dropping it must change no decision."""
        if key not in self._caches:
            self._caches[key] = make()
        value: T = self._caches[key]
        return value

    def drop_caches(self) -> None:
        self._caches.clear()

    def best(self, rule: Rule | None = None) -> Best | None:
        """What the study recommends, by its own rule or by another one; None without a reading."""
        if rule is not None:
            check_rule(rule)
        return best_of(self, rule or self.opened.recommend)

    def affordable_steps(self, trial: TrialRecord | None) -> float:
        """How many steps a new grant can have at most; none once any unit is exhausted."""
        ledger = self.ledger
        if ledger.exhausted():
            return 0
        if ledger.budget.cost is None:
            return ledger.free("steps")
        per_step = self.expected_cost(trial)
        by_cost = ledger.free("cost") / per_step if per_step > 0 else math.inf
        return min(ledger.free("steps"), by_cost)

    def expected_cost(self, trial: TrialRecord | None) -> float:
        """Mean cost of a step: the trial's own so far, else that of all steps."""
        costs = [r.cost for r in trial.readings.values() if r.cost] if trial else []
        if trial and costs:
            return sum(costs) / trial.step
        return self.ledger.cost / self.ledger.steps if self.ledger.steps else 0.0

    def affordable_cost(self, trial: TrialRecord, step: int) -> float:
        """The most that a reading at this step may cost: its share of what was reserved, and what is free."""
        return _share(trial, step) + self.ledger.free("cost")

    def apply(self, event: Event) -> None:
        """Check one event and apply it."""
        self.check(event)
        self.absorb(event)

    def check(self, event: Event) -> None:
        """Raise :class:`CorruptLog` if the event cannot follow what has happened."""
        wrong = self._objection(event)
        if wrong:
            raise CorruptLog(f"event {self.position} ({event.kind}) cannot follow: {wrong}")

    def _objection(self, event: Event) -> str | None:
        if (self.position == 0) != isinstance(event, Opened):
            return "a study is opened once, by its first event"
        if isinstance(event, Opened) and event.recommend not in RULES:
            return f"it recommends by {event.recommend!r}, and the rules are {', '.join(RULES)}"
        if event.at < self.now:
            return f"it is stamped {event.at}, before the event in front of it at {self.now}"
        match event:
            case Reported():
                return self._objection_to_report(event)
            case Granted():
                return self._objection_to_grant(event)
            case Closed() | Adopted():
                return self._objection_to_change(event)
        return None

    def _objection_to_grant(self, event: Granted) -> str | None:
        ledger, new = self.ledger, event.trial == len(self.trials)
        if not new and not (0 <= event.trial < len(self.trials) and self.trials[event.trial].state == "paused"):
            return f"trial {event.trial} is neither new nor paused"
        if event.start != (0 if new else self.trials[event.trial].step) or event.until <= event.start:
            return f"trial {event.trial} cannot be granted steps {event.start} to {event.until}"
        if (event.arm == len(self.arms)) != (event.config is not None) or not 0 <= event.arm <= len(self.arms):
            return f"arm {event.arm} must come with a configuration exactly when it is new"
        if event.until - event.start > ledger.free("steps"):
            return f"{event.until - event.start} steps are granted and {ledger.free('steps'):g} are left"
        if new and ledger.free("evaluations") < 1:
            return "no evaluation is left"
        if event.reserved > ledger.free("cost") + 1e-9:
            return f"a cost of {event.reserved:g} is set aside and {ledger.free('cost'):g} is left"
        return self._objection_to_time(event.at, 0.0)

    def _objection_to_report(self, event: Reported) -> str | None:
        trial = self.running.get(event.trial)
        if trial is None:
            return f"trial {event.trial} is not running"
        if not trial.step < event.step <= trial.until:
            return f"step {event.step} of trial {event.trial} is outside of its grant {trial.step + 1} to {trial.until}"
        if not math.isfinite(event.value):
            return f"the value {event.value} is not finite"
        if event.cost and event.cost > self.affordable_cost(trial, event.step) + 1e-9:
            return f"a cost of {event.cost:g} is more than is left"
        return self._objection_to_time(event.at, 0.0)

    def _objection_to_change(self, event: Closed | Adopted) -> str | None:
        trial = self.running.get(event.trial)
        if trial is None:
            return f"trial {event.trial} is not running"
        if isinstance(event, Adopted):
            if not 0 <= event.start <= trial.step:
                return f"trial {event.trial} is at step {trial.step} and cannot be taken up at {event.start}"
            if trial.step - event.start > self.ledger.free("steps"):
                return f"{trial.step - event.start} steps would be run again and {self.ledger.free('steps'):g} are left"
            return self._objection_to_time(event.at, event.idle)
        if event.how not in get_args(Closing):
            return f"a trial cannot end as {event.how!r}"
        if not 0 <= event.steps <= trial.until - trial.step:
            return f"{event.steps} steps cannot have been used since step {trial.step}"
        if event.cost > trial.reserved + self.ledger.free("cost") + 1e-9:
            return f"a cost of {event.cost:g} is more than is left"
        return self._objection_to_time(event.at, 0.0)

    def _objection_to_time(self, at: float, idle: float) -> str | None:
        if not self.running or self.ledger.budget.seconds is None:
            return None
        if at - self.now - idle > self.ledger.free("seconds") + 1e-6:
            return f"it comes {at - self.now - idle:g} s later and {self.ledger.free('seconds'):g} s are left"
        return None

    def absorb(self, event: Event) -> None:
        """Apply an event that is known to be possible."""
        if self.running:
            self.ledger.seconds += event.at - self.now - (event.idle if isinstance(event, Adopted) else 0.0)
        self.now = event.at
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
            case Opened():
                self.opened, self.ledger = event, Ledger(Budget(**event.budget))  # type: ignore[arg-type]
            case Budgeted():
                self.ledger.budget = Budget(**event.budget)  # type: ignore[arg-type]

    def _grant(self, event: Granted) -> None:
        if event.config is not None:
            self.arms.append(Arm(event.arm, dict(event.config)))
        if event.trial == len(self.trials):
            arm = self.arms[event.arm]
            trial = TrialRecord(
                event.trial,
                event.arm,
                event.replicate,
                event.seed,
                arm.config,
                event.worker,
                0,
                event.until,
                event.reserved,
            )
            self.trials.append(trial)
            arm.trials.append(trial)
            self.ledger.evaluations += 1
        else:
            trial = self.trials[event.trial]
            trial.state, trial.worker, trial.reserved = "running", event.worker, event.reserved
            trial.start, trial.until = event.start, event.until
        trial.goal, trial.explanation = event.goal or event.until, event.explanation or {}
        trial.granted, trial.reported_at = self.position - 1, event.at
        self.running[event.trial] = trial
        self.grants.append(event)
        self.ledger.committed_steps += event.until - event.start
        self.ledger.reserved += event.reserved

    def _report(self, event: Reported) -> None:
        trial, ledger = self.running[event.trial], self.ledger
        used, share = event.step - trial.step, _share(trial, event.step)
        ledger.steps += used
        ledger.committed_steps -= used
        trial.reserved -= share
        ledger.reserved -= share
        ledger.cost += event.cost or 0.0
        loss = self.sign * event.value
        trial.seconds += event.at - trial.reported_at
        trial.reported_at = event.at
        trial.readings[event.step] = Reading(event.value, event.low, event.high, event.cost, **(event.metrics or {}))
        trial.losses[event.step] = loss
        trial.recommended = updated(self.opened.recommend, trial.recommended, trial.losses)
        trial.step = event.step  # last: the display's thread looks up the loss of this step
        self.readings.append((trial, event.step, loss))
        if event.step == trial.until:
            trial.state = "finished" if event.step >= (self.max_resource or 1) else "paused"
            self._release(trial)

    def _close(self, event: Closed) -> None:
        trial = self.running[event.trial]
        trial.state, trial.message, trial.closed_after = event.how, event.message, len(self.readings)
        self.ledger.steps += event.steps
        self.ledger.cost += event.cost
        self.ledger.committed_steps -= trial.until - trial.step
        self.closings.append(trial)
        self._release(trial)

    def _release(self, trial: TrialRecord) -> None:
        self.ledger.reserved -= trial.reserved
        trial.reserved = 0.0
        del self.running[trial.index]
        if not self.running:
            self.ledger.reserved = 0.0  # only rounding errors are left

    def _adopt(self, event: Adopted) -> None:
        trial = self.running[event.trial]
        again = [step for step in trial.readings if step > event.start]
        self.ledger.steps += trial.step - event.start
        self.ledger.cost += min(sum(trial.readings[s].cost or 0.0 for s in again), max(self.ledger.free("cost"), 0.0))
        trial.worker, trial.reported_at = event.worker, event.at


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
