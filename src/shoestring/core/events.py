"""The events of a study: frozen records with a stable JSON form.

The log is the only state of a study, and these eleven records are all that it holds:

========== =====================================================================================
opened     the study starts: space, method, budget, seed
budgeted   the budget was changed
granted    a trial may run until a step, by the decision of the method
reported   a trial gave the reading of one step; the reading at ``until`` ends its grant
closed     a trial ended for good: finished early, failed, lost or stopped
adopted    a running trial is run again from ``start``, by another worker after its own was lost, or by
           the same one; repeated steps are charged
released   no process holds a running trial any more: it was interrupted, or the trial was freed by hand
stopped    the study was stopped before the end of its budget, or goes on after that
enqueued   the user gave a configuration, which is tried before the method chooses one
added      the user gave a result from elsewhere, which is learned from and costs nothing
noted      a remark about the study or a trial; no decision depends on it
========== =====================================================================================

``at`` is the study's time in seconds. It is the time of day as long as the clock is not set. It never goes back, and
while a trial is running it advances as a clock does that cannot be set; ``drift`` is how far the time of day was ahead
of it when the event was written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from shoestring.core.budget import LARGEST_WHOLE
from shoestring.errors import CorruptLog, NewerLog, OlderLog
from shoestring.spaces.serialisation import with_tags, without_tags

FORMAT = 3
# The most configurations of a plan, and the most characters of an origin.
LONGEST_PLAN, _LONGEST_ORIGIN = 30, 64

Mode = Literal["min", "max"]
# How a study recommends one of its configurations and steps (core/recommendation.py).
Rule = Literal["best", "median", "last", "auto"]
# Configurations to be tried early (core/planned.py).
Plan = Sequence[Mapping[str, Any]]
# How a trial can end for good.
Closing = Literal["finished", "failed", "lost", "stopped"]


@dataclass(frozen=True, slots=True)
class Opened:
    """``mode`` is that of the first of the ``objectives``; without these it is that of the value of a reading.

    ``plan`` has configurations from a past or a guess, each with ``config``, ``origin`` (the digest of the log that it
    is from, or "guess") and ``sd``, which is how far from the guess it was drawn.
    """

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
    objectives: Mapping[str, str] | None = None
    constraints: Mapping[str, str] | None = None
    drift: float = 0.0
    plan: Plan = ()


@dataclass(frozen=True, slots=True)
class Budgeted:
    """The last budget given counts, for every process; ``worker`` is who gave it."""

    kind: ClassVar[str] = "budgeted"
    at: float
    budget: Mapping[str, float]
    worker: str = ""
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Granted:
    """``config`` is given when the arm is new; ``reserved`` is the cost set aside for the grant.

    ``goal`` is the step that was decided on, where the budget bought less than that. ``explanation`` is for people;
    ``state`` and ``sampler_state`` are what the method (or its scheduler) and its sampler read back. ``planned`` says
    that the configuration is the one whose turn it was by the plan of the study, whatever the method would have chosen.
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
    drift: float = 0.0
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Reported:
    """``metrics`` are numbers, ``details`` the metrics that are texts or other JSON."""

    kind: ClassVar[str] = "reported"
    at: float
    trial: int
    step: int
    value: float
    low: float | None = None
    high: float | None = None
    cost: float | None = None
    metrics: Mapping[str, float] | None = None
    details: Mapping[str, Any] | None = None
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Closed:
    """``steps`` and ``cost`` are what the trial used since its last reading; ``idle`` as in :class:`Adopted`."""

    kind: ClassVar[str] = "closed"
    at: float
    trial: int
    how: Closing
    message: str = ""
    steps: int = 0
    cost: float = 0.0
    idle: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """``idle`` is how long no trial had been running when this one was taken over.

    ``attempt`` counts the attempts at the trial's next step that were lost or failed, ``message`` says why the last
    one was, and ``steps`` is what it used.
    """

    kind: ClassVar[str] = "adopted"
    at: float
    trial: int
    worker: str
    start: int
    idle: float = 0.0
    attempt: int = 0
    message: str = ""
    steps: int = 0
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Released:
    kind: ClassVar[str] = "released"
    at: float
    trial: int
    message: str = ""
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """``reason`` is empty if a stopped study goes on."""

    kind: ClassVar[str] = "stopped"
    at: float
    reason: str = ""
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Enqueued:
    """``source`` says who wants it to be tried; it is empty for the user of the study."""

    kind: ClassVar[str] = "enqueued"
    at: float
    config: Mapping[str, Any]
    source: str = ""
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Added:
    """``readings`` are in the order of their steps, each with ``step``, ``value`` and what else a reading has.

    ``failed`` is why the trial failed, empty if it did not, and ``source`` says where the result comes from.
    """

    kind: ClassVar[str] = "added"
    at: float
    config: Mapping[str, Any]
    readings: Sequence[Mapping[str, Any]]
    failed: str = ""
    source: str = ""
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Noted:
    """``trial`` is None for the study, whose note and tags are replaced; notes and attributes of a trial add up."""

    kind: ClassVar[str] = "noted"
    at: float
    trial: int | None = None
    notes: Sequence[str] = ()
    attributes: Mapping[str, Any] | None = None
    tags: Sequence[str] | None = None
    drift: float = 0.0


Event = Opened | Budgeted | Granted | Reported | Closed | Adopted | Released | Stopped | Enqueued | Added | Noted

_KINDS: dict[str, type[Event]] = {
    kind.kind: kind
    for kind in (Opened, Budgeted, Granted, Reported, Closed, Adopted, Released, Stopped, Enqueued, Added, Noted)
}
_NAMES = {kind: tuple(f.name for f in fields(kind) if f.name != "at") for kind in _KINDS.values()}
_DEFAULTS = {kind: {f.name: f.default for f in fields(kind)} for kind in _KINDS.values()}


_encoded = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def to_json(event: Event) -> str:
    """The body of an event as JSON; fields that have their default value are left out."""
    kind = type(event)
    defaults = _DEFAULTS[kind]
    body: dict[str, Any] = {"v": FORMAT}
    for name in _NAMES[kind]:
        value = getattr(event, name)
        if value != defaults[name]:
            body[name] = _WRITTEN[name](value) if name in _WRITTEN else value
    return _encoded(body)


def _finite_metrics(metrics: Mapping[str, float]) -> dict[str, float | str]:
    """JSON has no NaN or infinity; as text they survive, and ``float`` reads them back."""
    return {name: m if math.isfinite(m) else str(m) for name, m in metrics.items()}


def _with_tuples(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: with_tags(value) for name, value in config.items()}


def _write_readings(readings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _finite_metrics(m) if name == "metrics" else m for name, m in one.items()} for one in readings]


def _read_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(m) for name, m in metrics.items()}


def _read_readings(readings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _read_metrics(m) if name == "metrics" else m for name, m in one.items()} for one in readings]


def _without_tuples(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if config is None else {name: without_tags(value) for name, value in config.items()}


def _write_plan(plan: Plan) -> list[dict[str, Any]]:
    return [{**entry, "config": _with_tuples(entry["config"])} for entry in plan]


def _read_plan(plan: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple({**entry, "config": _without_tuples(entry["config"])} for entry in plan)


# Conversions, both ways, of the fields that JSON cannot hold directly.
_WRITTEN: dict[str, Callable[[Any], Any]] = {
    "metrics": _finite_metrics,
    "config": _with_tuples,
    "readings": _write_readings,
    "plan": _write_plan,
    "notes": list,
    "tags": list,
}
_READ: dict[str, Callable[[Any], Any]] = {
    "metrics": _read_metrics,
    "config": _without_tuples,
    "readings": _read_readings,
    "plan": _read_plan,
    "notes": tuple,
    "tags": tuple,
}


def from_json(kind: str, at: float, body: str | bytes, seq: int) -> Event:
    """The event of a stored row; anything that no event of ours can hold is an error that names the row."""
    try:
        given = json.loads(body)
        version = given.pop("v")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise CorruptLog(f"event {seq} of the log is unreadable: {str(body)[:80]!r}", seq) from None
    if type(version) is not int or version > FORMAT:
        raise NewerLog(
            f"event {seq} of the log has format {version!r:.40}; this version of shoestring reads up to {FORMAT}: "
            "upgrade shoestring to open this study"
        )
    if version < FORMAT:
        raise OlderLog(older_format(f"event {seq} of the log has format {version}"))
    try:
        checks = _CHECKS[kind]
        for name, value in given.items():
            if not checks[name](value):
                raise ValueError(f"{name} is {value!r:.80}")
        if not _is_number(at):
            raise ValueError(f"it is stamped {at!r:.80}")
        for name in _READ.keys() & given.keys():
            given[name] = _READ[name](given[name])
        return _KINDS[kind](at=float(at), **given)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptLog(f"event {seq} of the log is not a valid {kind!r:.40} event: {error}", seq) from None


def older_format(what: str) -> str:
    return (
        f"{what}, of an earlier version of shoestring; this one reads format {FORMAT}: finish or export the study with "
        "that version, or start a new one under another name or in another file"
    )


def _is_number(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < LARGEST_WHOLE)


def _is_metric(value: object) -> bool:
    return _is_number(value) or value in ("nan", "inf", "-inf")


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value < LARGEST_WHOLE


def _is_reading(value: object) -> bool:
    if type(value) is not dict or not {"step", "value"} <= value.keys() <= {*_NUMBERS, "step", "metrics", "details"}:
        return False
    metrics = value.get("metrics", {})
    numbers = all(_is_number(value[name]) for name in _NUMBERS & value.keys())
    plain = type(value.get("details", {})) is dict and type(metrics) is dict and all(map(_is_metric, metrics.values()))
    return numbers and plain and _is_whole(value["step"])


def _is_texts(value: object) -> bool:
    return type(value) is list and all(type(text) is str for text in value)


def _is_plan(value: object) -> bool:
    return type(value) is list and len(value) <= LONGEST_PLAN and all(map(_is_planned, value))


def _is_planned(value: object) -> bool:
    if type(value) is not dict or value.keys() != {"config", "origin", "sd"}:
        return False
    right = type(value["config"]) is dict and type(value["origin"]) is str and _is_number(value["sd"])
    return right and value["sd"] >= 0 and len(value["origin"]) <= _LONGEST_ORIGIN


_NUMBERS = {"value", "low", "high", "cost"}
_IS: dict[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "int | None": lambda value: value is None or _is_whole(value),
    "float": _is_number,
    "float | None": lambda value: value is None or _is_number(value),
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "str | None": lambda value: value is None or type(value) is str,
    "Mapping[str, Any]": lambda value: type(value) is dict,
    "Mapping[str, Any] | None": lambda value: value is None or type(value) is dict,
    "Mapping[str, float]": lambda value: type(value) is dict and all(map(_is_number, value.values())),
    "Mapping[str, str] | None": lambda value: (
        value is None or (type(value) is dict and _is_texts(list(value.values())))
    ),
    "Sequence[str]": _is_texts,
    "Sequence[str] | None": lambda value: value is None or _is_texts(value),
    "Mapping[str, float] | None": lambda value: type(value) is dict and all(map(_is_metric, value.values())),
    "Sequence[Mapping[str, Any]]": lambda value: type(value) is list and all(map(_is_reading, value)),
    "Plan": _is_plan,
    "Mode": get_args(Mode).__contains__,
    "Rule": get_args(Rule).__contains__,
    "Closing": get_args(Closing).__contains__,
}
# For each kind of event, what each of its fields may hold when it is read back: by the annotation of the field.
_CHECKS = {name: {f.name: _IS[str(f.type)] for f in fields(kind) if f.name != "at"} for name, kind in _KINDS.items()}
_CHECKS["opened"]["seed"] = lambda value: type(value) is int
