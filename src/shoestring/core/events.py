"""The events of a study: frozen records with a stable JSON form.

The log is the only state of a study, and these six records are all that it holds:

========== =====================================================================================
opened     the study starts: space, method, budget, seed
budgeted   the budget was changed
granted    a trial may run until a step, by the decision of the method
reported   a trial gave the reading of one step; the reading at ``until`` ends its grant
closed     a trial ended for good: finished early, failed, lost or stopped
adopted    another worker took over a running trial from ``start``; repeated steps are charged
========== =====================================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from shoestring.errors import CorruptLog, NewerLog, OlderLog

FORMAT = 2

Mode = Literal["min", "max"]
# How a study recommends one of its configurations and steps (core/recommendation.py).
Rule = Literal["best", "median", "last"]
# How a trial can end for good.
Closing = Literal["finished", "failed", "lost", "stopped"]


@dataclass(frozen=True, slots=True)
class Opened:
    kind: ClassVar[str] = "opened"
    at: float
    space: Mapping[str, Any]
    method: Mapping[str, Any]
    budget: Mapping[str, float]
    mode: Mode
    max_resource: int | None
    seed: int
    objective: str | None = None
    recommend: Rule = "best"  # of a log that does not say it, whatever the default of new studies is


@dataclass(frozen=True, slots=True)
class Budgeted:
    kind: ClassVar[str] = "budgeted"
    at: float
    budget: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Granted:
    """``config`` is given when the arm is new; ``reserved`` is the cost set aside for the grant.

    ``goal`` is the step that was decided on, where the budget bought less than that. ``explanation`` is for people;
    ``state`` and ``sampler_state`` are what the method (or its scheduler) and its sampler read back.
    """

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
    goal: int | None = None
    explanation: Mapping[str, Any] | None = None
    state: Mapping[str, Any] | None = None
    sampler_state: Mapping[str, Any] | None = None
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
    how: Closing
    message: str = ""
    steps: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """``idle`` is how long no trial had been running when this one was taken over."""

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
    """The body of an event as JSON; fields that have their default value are left out."""
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
    if version < FORMAT:
        raise OlderLog(
            f"event {seq} of the log has format {version}, of shoestring 0.1; this version reads format {FORMAT}: "
            "finish or export the study with shoestring 0.1, or start a new one under another name"
        )
    if given.get("metrics"):
        given["metrics"] = {name: float(m) for name, m in given["metrics"].items()}
    try:
        return _KINDS[kind](at=float(at), **given)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptLog(f"event {seq} of the log is not a valid {kind!r} event: {error}") from None
