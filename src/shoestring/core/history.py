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
from typing import Any, Literal, TypeVar

from shoestring._other_names import ExplainsNames
from shoestring._tables import pairs_table
from shoestring.core.budget import Budget, Ledger
from shoestring.core.events import (
    Added,
    Adopted,
    Budgeted,
    Closed,
    Closing,
    Enqueued,
    Event,
    Granted,
    Opened,
    Released,
    Reported,
    Rule,
    Stopped,
)
from shoestring.core.objections import objection
from shoestring.core.randomness import integer
from shoestring.core.readings import Reading
from shoestring.core.recommendation import Best, Recommended, best_of, check_rule, updated
from shoestring.core.trial_rows import reading_rows, summary_row
from shoestring.errors import CorruptLog
from shoestring.spaces.codec import Codec, Config, copied
from shoestring.spaces.serialisation import deserialised

T = TypeVar("T")
TrialState = Literal["running", "paused", Closing]
# The states of a trial that its configuration may be the cause of: a process that is lost often ran out of memory.
FAILED: tuple[TrialState, ...] = ("failed", "lost")


@dataclass(slots=True, eq=False)
class TrialRecord(ExplainsNames):
    """One run of a configuration: its grants and readings. Read-only for users; the log writes it.

    ``state`` is running, paused, finished, failed, lost or stopped. ``step`` is how far it is, ``until`` how far its
    last grant goes, and ``goal`` how far that was meant to go before it was cut to what the budget could pay.
    ``reason`` and ``explanation`` say what that grant was decided on, for people to read. ``recommended`` is what the
    study's rule makes of the readings, ``seconds`` is how long its steps took, and ``closed_after`` how many readings
    the study had when it ended. ``worker`` is who runs it, empty if nobody does, ``holders`` how often it went from one
    worker to another, and ``attempts`` how many attempts at its next step were lost or failed. ``foreign`` is a trial
    from elsewhere that was not continued here: nothing was paid for it, and there are no files of it.
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
    reason: str = ""
    explanation: Mapping[str, Any] = field(default_factory=dict)
    granted: int = 0
    reported_at: float = 0.0
    closed_after: int = 0
    seconds: float = 0.0
    recommended: Recommended | None = None
    holders: int = 0
    attempts: int = 0
    foreign: bool = False

    def taken_by(self, worker: str) -> None:
        self.holders += worker != self.worker
        self.worker = worker

    def loss(self, step: int) -> float | None:
        """The loss at a step; a trial that ended early keeps its last one. None if not there yet."""
        if step in self.losses:
            return self.losses[step]
        if self.step < step and self.state != "finished":
            return None
        return next((self.losses[s] for s in sorted(self.losses, reverse=True) if s <= step), None)

    def __repr__(self) -> str:
        found = self.recommended
        value = f", {self.readings[found.step].value:g} at step {found.step}" if found else ""
        why = f": {self.message}" if self.message else ""
        return f"<trial {self.index}, {self.state} after {self.step} steps{value}{why}; {dict(self.config)}>"

    def _repr_html_(self) -> str:
        row = self.summary()
        return pairs_table(f"Trial {row.pop('trial')}", {name: value for name, value in row.items() if value != ""})

    def summary(self) -> dict[str, Any]:
        """The trial as one plain row; a parameter called like a column of ours gets a longer name."""
        return summary_row(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The readings as plain rows; a parameter or metric called like a column of ours gets a longer name."""
        return reading_rows(self)


@dataclass(slots=True, eq=False)
class Arm:
    """One configuration, and the trials that ran it; ``given`` if the user gave it, and no method chose it."""

    index: int
    config: Config
    given: bool = False
    trials: list[TrialRecord] = field(default_factory=list)


class History:
    """The state of a study after the events so far.

    ``trials``, ``arms``, ``grants``, ``readings`` (trial, step, loss) and ``closings`` (trials) are in log order and
    only grow, so that a cache can be updated by what is new (:class:`Cursor`). ``granted_after`` has for each grant how
    many readings and closings came before it. ``running`` has the running trials by index; ``codec`` translates
    configurations; ``max_resource`` and ``seed`` are those of the study. ``queue`` has the configurations that the user
    enqueued and that were not tried yet, ``arm_of`` the arm of a configuration by its key, and ``given`` is how many
    arms the user gave. ``lowest`` is the reading with the lowest loss (trial, step, loss), ``spent_then`` what was
    spent when it came; ``stopped`` is why the study was stopped before its end, empty if it was not.
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
        self.arm_of: dict[Hashable, int] = {}
        self.given = 0
        self.grants: list[Granted] = []
        self.granted_after: list[int] = []
        self.drift = 0.0
        self.stopped = ""
        self.lowest: tuple[TrialRecord, int, float] | None = None
        self.spent_then: dict[str, float] = {}
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

    def restore(self, event: Event) -> None:
        """Apply an event from a storage, where it can be anything: all that is wrong with it is a ``CorruptLog``."""
        position = self.position
        try:
            self.apply(event)
            if isinstance(event, Opened):
                _ = self.codec  # a space that cannot be is refused here
            elif isinstance(event, (Granted, Enqueued, Added)) and event.config is not None:
                self.codec.check_stored(event.config)
        except CorruptLog:
            raise
        except Exception as error:
            raise CorruptLog(f"event {position} ({event.kind}) is malformed: {error}", position) from error

    def check(self, event: Event) -> None:
        """Raise :class:`CorruptLog` if the event cannot follow what has happened."""
        wrong = objection(self, event)
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
                self.running[event.trial].taken_by("")
            case Stopped():
                self.stopped = event.reason
            case Enqueued():
                self.queue.append(copied(event.config))
            case Added():
                self._add(event)
            case Opened():
                self.opened, self.ledger = event, Ledger(Budget(**event.budget))  # type: ignore[arg-type]
            case Budgeted():
                self.ledger.budget = Budget(**event.budget)  # type: ignore[arg-type]
                self.budget_from = event.worker

    def _grant(self, event: Granted) -> None:
        if event.config is not None:
            self._new_arm(event.config, given=False)
        if event.trial == len(self.trials):
            arm = self.arms[event.arm]
            trial = TrialRecord(
                event.trial, arm.index, event.replicate, event.seed, arm.config, event.worker, 0, event.until,
                event.reserved,
            )  # fmt: skip
            self.trials.append(trial)
            arm.trials.append(trial)
            self.ledger.evaluations += 1
        else:
            trial = self.trials[event.trial]
            trial.state, trial.reserved = "running", event.reserved
            trial.start, trial.until = event.start, event.until
            trial.taken_by(event.worker)
            trial.foreign = False
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
        arm = Arm(len(self.arms), copied(config), given or len(self.queue) < waiting)
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
            self._take_in(trial, one["step"], Reading(one["value"], *values, **one.get("metrics", {})))
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
        reading = Reading(event.value, event.low, event.high, event.cost, **(event.metrics or {}))
        self._take_in(trial, event.step, reading)
        if event.step == trial.until:
            trial.state = "finished" if event.step >= (self.max_resource or 1) else "paused"
            self._release(trial)

    def _take_in(self, trial: TrialRecord, step: int, reading: Reading) -> None:
        loss = self.sign * reading.value
        trial.readings[step], trial.losses[step] = reading, loss
        trial.recommended = updated(self.opened.recommend, trial.recommended, trial.losses)
        trial.step = step  # last: the display's thread looks up the loss of this step
        self.readings.append((trial, step, loss))
        if self.lowest is None or loss < self.lowest[2]:
            self.lowest, self.spent_then = self.readings[-1], self.ledger.spent()

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
        del self.running[trial.index]
        if not self.running:
            self.ledger.reserved = 0.0  # only rounding errors are left

    def _adopt(self, event: Adopted) -> None:
        trial = self.running[event.trial]
        again = [step for step in trial.readings if step > event.start]
        self.ledger.steps += trial.step - event.start + event.steps
        self.ledger.seconds -= event.idle
        self.ledger.cost += min(sum(trial.readings[s].cost or 0.0 for s in again), max(self.ledger.free("cost"), 0.0))
        trial.attempts, trial.reported_at = event.attempt, event.at
        trial.taken_by(event.worker)


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
