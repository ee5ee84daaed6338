"""The records of a history: a trial with its grants and readings, and the configuration that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from shoestring._other_names import ExplainsNames
from shoestring._tables import ShownAsTable, with_own_names
from shoestring.core.events import Closing
from shoestring.core.readings import Reading
from shoestring.core.recommendation import Recommended
from shoestring.spaces.codec import Config

TrialState = Literal["running", "paused", Closing]
# The states of a trial that its configuration may be the cause of: a process that is lost often ran out of memory.
FAILED: tuple[TrialState, ...] = ("failed", "lost")
# Beyond this no calendar has a date.
_END_OF_TIME = 6e10


@dataclass(slots=True, eq=False)
class TrialRecord(ShownAsTable, ExplainsNames):
    """One run of a configuration: its grants and readings. Read-only for users; the log writes it.

    ``state`` is running, paused, finished, failed, lost or stopped. ``step`` is how far it is, ``until`` how far its
    last grant goes, and ``goal`` how far that was meant to go before it was cut to what the budget could pay.
    ``reason`` and ``explanation`` say what that grant was decided on, for people to read. ``recommended`` is what the
    study's rule makes of the readings, ``seconds`` is how long its steps took, and ``closed_after`` how many readings
    the study had when it ended. ``worker`` is the process that runs it, empty if none does, ``holders`` how often it
    went from one worker to another, and ``attempts`` how many attempts at its next step were lost or failed.
    ``foreign`` is a trial from elsewhere that was not continued here: nothing was paid for it, and there are no files
    of it. ``started`` and ``ended`` are when it was started first, and when it paused or ended last. ``notes`` and
    ``attributes`` are what was said of it, and ``violations`` has by step how far its reading misses each constraint of
    the study.
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
    started: datetime | None = None
    ended: datetime | None = None
    notes: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    violations: dict[int, tuple[float, ...]] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The value that the study's rule recommends of this trial; None without a reading."""
        return None if self.recommended is None else self.readings[self.recommended.step].value

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics that were reported with that value."""
        return {} if self.recommended is None else self.readings[self.recommended.step].metrics

    def is_feasible(self, step: int) -> bool:
        """Tell whether the reading of a step fulfils all constraints of the study."""
        return not any(self.violations.get(step, ()))

    def hand_to(self, worker: str) -> None:
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

    def _pairs(self) -> tuple[str, dict[str, Any]]:
        return f"Trial {self.index}", {name: value for name, value in self.facts().items() if value != ""}

    def facts(self) -> dict[str, Any]:
        """Return how the trial went, and its configuration; ``value`` and ``step`` are what the study's rule
        recommends.
        """
        costs = [reading.cost for reading in self.readings.values() if reading.cost is not None]
        found = self.recommended
        row = {
            "arm": self.arm,
            "replicate": self.replicate,
            "state": self.state,
            "value": self.value,
            "step": found.step if found else None,
            "steps": self.step,
            "seconds": self.seconds,
            "cost": sum(costs) if costs else None,
            "seed": self.seed,
            "reason": self.reason,
            "message": self.message,
            "started": self.started,
            "ended": self.ended,
            "notes": "\n".join(self.notes),
        }
        row = with_own_names(with_own_names(row, "metric", self.metrics), "config", self.config)
        return with_own_names(row, "attribute", self.attributes)


@dataclass(slots=True, eq=False)
class Arm:
    """One configuration, and the trials that ran it.

    ``given`` if the user gave it, and no method chose it; ``planned`` if it was started because the study planned it.
    """

    index: int
    config: Config
    given: bool = False
    planned: bool = False
    trials: list[TrialRecord] = field(default_factory=list)


def date_of(at: float) -> datetime | None:
    """A time stamp as a date; None beyond the calendar."""
    return datetime.fromtimestamp(at, UTC) if abs(at) < _END_OF_TIME else None
