"""What can happen in a study: frozen records with a stable JSON form.

The log is the only state there is, so these six records are the whole of it:

========== =====================================================================================
opened     the study begins: space, method, budget, seed
budgeted   the budget was changed
granted    the method gave a trial permission to run until a step
reported   a trial gave the reading of one step; the reading at ``until`` ends its grant
closed     a trial ended for good: finished early, failed, lost or stopped
adopted    another worker took over a running trial, from ``start``; steps run again are charged
========== =====================================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from shoestring.errors import CorruptLog, NewerLog, ReadingError

FORMAT = 1

CLOSINGS = ("finished", "failed", "lost", "stopped")


@dataclass(frozen=True, slots=True, init=False)
class Reading:
    """One observed value, optionally with bounds, a cost and extra metrics.

    >>> from shoestring import Reading
    >>> Reading(0.25, low=0.2, high=0.3, cost=1.5, accuracy=0.9).metrics["accuracy"]
    0.9
    """

    value: float
    low: float | None
    high: float | None
    cost: float | None
    metrics: Mapping[str, float]

    def __init__(
        self,
        value: float,
        low: float | None = None,
        high: float | None = None,
        cost: float | None = None,
        **metrics: float,
    ) -> None:
        put = object.__setattr__
        put(self, "value", value)
        put(self, "low", low)
        put(self, "high", high)
        put(self, "cost", cost)
        put(self, "metrics", metrics)


def checked_reading(given: object) -> Reading:
    """A usable reading from what an objective gave, or an error that says why it is not one."""
    if not isinstance(given, Reading):
        return Reading(given if type(given) is float and math.isfinite(given) else _number("the reading", given))
    reading, value = given, _number("the reading", given.value)
    low, high = (
        None if bound is None else _number(f"the reading's {name} bound", bound)
        for name, bound in (("low", reading.low), ("high", reading.high))
    )
    if low is not None and high is not None and low > high:
        raise ReadingError(f"the reading's low bound {low:g} is above its high bound {high:g}")
    cost = None if reading.cost is None else _number("the reading's cost", reading.cost)
    if cost is not None and cost < 0:
        raise ReadingError(f"the reading's cost is {cost:g}; a cost is not negative")
    return Reading(value, low, high, cost, **{name: _metric(name, m) for name, m in reading.metrics.items()})


def _number(what: str, given: Any) -> float:
    if isinstance(given, float) and math.isfinite(given):
        return given
    if isinstance(given, (str, bytes, bool)) or given is None:
        raise ReadingError(f"{what} is {_shown(given)}, not a number")
    try:
        number = float(given)
    except Exception:  # whatever a foreign type raises when it is no number
        raise ReadingError(f"{what} is {_shown(given)}, not a number") from None
    if not math.isfinite(number):
        raise ReadingError(f"{what} is {number}; only finite numbers can be compared")
    return number


def _metric(name: str, given: Any) -> float:
    try:
        return float(given)
    except Exception:
        raise ReadingError(f"the reading's metric {name!r} is {_shown(given)}, not a number") from None


def _shown(given: Any) -> str:
    """Something of the user's, short enough for a message."""
    try:
        text = repr(given)
    except Exception:
        text = f"a {type(given).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True, slots=True)
class Opened:
    kind: ClassVar[str] = "opened"
    at: float
    space: Mapping[str, Any]
    method: Mapping[str, Any]
    budget: Mapping[str, float]
    mode: str
    max_resource: int | None
    seed: int
    objective: str | None = None


@dataclass(frozen=True, slots=True)
class Budgeted:
    kind: ClassVar[str] = "budgeted"
    at: float
    budget: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Granted:
    """``config`` is given when the arm is new; ``reserved`` is the cost set aside for the grant."""

    kind: ClassVar[str] = "granted"
    at: float
    trial: int
    arm: int
    replicate: int
    seed: int
    start: int
    until: int
    reason: str
    worker: str
    config: Mapping[str, Any] | None = None
    notes: Mapping[str, Any] | None = None
    reserved: float = 0.0


@dataclass(frozen=True, slots=True)
class Reported:
    kind: ClassVar[str] = "reported"
    at: float
    trial: int
    step: int
    value: float
    low: float | None = None
    high: float | None = None
    cost: float | None = None
    metrics: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """``steps`` and ``cost`` are what the trial used since its last reading."""

    kind: ClassVar[str] = "closed"
    at: float
    trial: int
    how: str
    message: str = ""
    steps: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """``idle`` is how long nothing at all had run when the trial was taken over."""

    kind: ClassVar[str] = "adopted"
    at: float
    trial: int
    worker: str
    start: int
    idle: float = 0.0


Event = Opened | Budgeted | Granted | Reported | Closed | Adopted

_KINDS: dict[str, type[Event]] = {kind.kind: kind for kind in (Opened, Budgeted, Granted, Reported, Closed, Adopted)}
_NAMES = {kind: tuple(f.name for f in fields(kind) if f.name != "at") for kind in _KINDS.values()}
_DEFAULTS = {kind: {f.name: f.default for f in fields(kind)} for kind in _KINDS.values()}


def to_json(event: Event) -> str:
    """The body of an event as JSON; what stands at its default is left out."""
    kind = type(event)
    defaults = _DEFAULTS[kind]
    body: dict[str, Any] = {"v": FORMAT}
    for name in _NAMES[kind]:
        value = getattr(event, name)
        if value != defaults[name]:
            body[name] = _finite_metrics(value) if name == "metrics" else value
    return json.dumps(body, separators=(",", ":"), allow_nan=False)


def _finite_metrics(metrics: Mapping[str, float]) -> dict[str, float | str]:
    """JSON has no NaN or infinity; as text they survive, and ``float`` reads them back."""
    return {name: m if math.isfinite(m) else str(m) for name, m in metrics.items()}


def from_json(kind: str, at: float, body: str, seq: int) -> Event:
    """The event of a stored row; anything unreadable is an error that names the row."""
    try:
        given = json.loads(body)
        version = given.pop("v")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise CorruptLog(f"event {seq} of the log is unreadable: {str(body)[:80]!r}") from None
    if not isinstance(version, int) or version > FORMAT:
        raise NewerLog(
            f"event {seq} of the log has format {version!r}; this version of shoestring reads up to {FORMAT}: "
            "upgrade shoestring to open this study"
        )
    if given.get("metrics"):
        given["metrics"] = {name: float(m) for name, m in given["metrics"].items()}
    try:
        return _KINDS[kind](at=float(at), **given)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptLog(f"event {seq} of the log is not a valid {kind!r} event: {error}") from None
