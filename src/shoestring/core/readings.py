"""Readings: the values of an objective, checked before they are used, in all the forms that ``tell`` takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from shoestring.core.goals import Goals, number_of
from shoestring.core.remarks import shorten_json, shorten_text
from shoestring.errors import ReadingError, brief

_NONE = "the reading is None, not a number: the objective must return, yield or report its loss"


@dataclass(frozen=True, slots=True, init=False)
class Reading:
    """One observed value, optionally with bounds, a cost and extra metrics.

    ``value`` is what is tuned; ``low`` and ``high`` are the ends of its 95 % interval, if you know it, and ``cost``
    is what the step cost, in the unit of ``Budget(cost=...)``. Any other keyword is a metric that is kept with the
    reading: a number, a text, or what JSON can hold. In a study with named objectives, they are given by name, and
    ``value`` is the first of them.

    >>> from shoestring import Reading
    >>> Reading(0.25, low=0.2, high=0.3, cost=1.5, accuracy=0.9).metrics["accuracy"]
    0.9
    >>> Reading(error=0.25, latency=3.0).metrics["latency"]
    3.0
    """

    value: float
    low: float | None
    high: float | None
    cost: float | None
    metrics: Mapping[str, Any]

    def __init__(
        self,
        value: float | None = None,
        low: float | None = None,
        high: float | None = None,
        cost: float | None = None,
        **metrics: Any,
    ) -> None:
        put = object.__setattr__
        put(self, "value", value)  # None until the reading is checked, if the objectives are given by name
        put(self, "low", low)
        put(self, "high", high)
        put(self, "cost", cost)
        put(self, "metrics", metrics)


def reading_with(value: Any, metrics: Mapping[str, Any]) -> Reading:
    """A reading from a value, a mapping or a reading, and further metrics; nothing is checked yet."""
    reading = as_reading(value)
    own = {"low": reading.low, "high": reading.high, "cost": reading.cost, **reading.metrics}
    return Reading(reading.value, **{**own, **metrics})


def as_reading(given: Any) -> Reading:
    """A reading from what an objective gave: a value, a mapping of names to values, or a reading."""
    if isinstance(given, Reading):
        return given
    if not isinstance(given, Mapping):
        return Reading(given)
    if not all(isinstance(name, str) for name in given) or "self" in given:
        raise ReadingError(f"the reading is {brief(given)}; its names must be texts, and none can be 'self'")
    return Reading(**given)


def check_reading(given: object, goals: Goals | None = None) -> Reading:
    """A usable reading from what an objective gave, or an error that says why it is not one.

    Without ``goals`` it is not known yet which numbers the study needs: only those that are there are checked.
    """
    reading = as_reading(given)
    metrics = {name: _metric(name, m) for name, m in reading.metrics.items()}
    value = reading.value
    if value is not None or not isinstance(given, (Reading, Mapping)):
        value = _number("the reading", value, goals)
    low, high = (
        None if bound is None else _number(f"the reading's {name} bound", bound)
        for name, bound in (("low", reading.low), ("high", reading.high))
    )
    if low is not None and high is not None and low > high:
        raise ReadingError(f"the reading's low bound {low:g} is above its high bound {high:g}")
    cost = None if reading.cost is None else _number("the reading's cost", reading.cost)
    if cost is not None and cost < 0:
        raise ReadingError(f"the reading's cost is {cost:g}; a cost is not negative")
    checked = Reading(value, low, high, cost, **metrics)
    return checked if goals is None else _with_goals(checked, goals)


def _with_goals(reading: Reading, goals: Goals) -> Reading:
    """The reading with the first objective as its value; it has all that the study judges it by."""
    if goals.named:
        own, first = dict(reading.metrics), goals.names[0]
        if not goals.several and number_of(reading, first) is None and reading.value is not None:
            own[first] = reading.value  # the only objective may be given without its name
        reading = Reading(reading.value, reading.low, reading.high, reading.cost, **own)
        values = {name: _require(reading, name, f"the objective {name!r}", goals) for name in goals.names}
        reading = Reading(values[first], reading.low, reading.high, reading.cost, **own)
    elif reading.value is None:
        raise ReadingError(_no_value(reading))
    for constraint in goals.constraints:
        _require(reading, constraint.name, f"{constraint.name!r}, which has the constraint {constraint.text!r},", goals)
    return reading


def _no_value(reading: Reading) -> str:
    if not reading.metrics:
        return _NONE
    first = next(iter(reading.metrics))
    return (
        f"the reading has no value, only {', '.join(reading.metrics)}: say which one is tuned, value={first!r} "
        f"(--value {first}) for a command and ss.Reading(value, ...) elsewhere, or name them as objectives"
    )


def _require(reading: Reading, name: str, what: str, goals: Goals) -> float:
    given = number_of(reading, name)
    if given is None:
        raise ReadingError(f"{what} is missing from the reading: give {_example(goals)}")
    return _number(what, given)


def _example(goals: Goals | None) -> str:
    """A reading with all that a study needs."""
    if goals is None or not (goals.named or goals.constraints):
        return "ss.Reading(loss, accuracy=...)"
    wanted = dict.fromkeys([*goals.names, *(constraint.name for constraint in goals.constraints)])
    return f"ss.Reading({'=..., '.join(wanted)}=...)"


def _number(what: str, given: Any, goals: Goals | None = None) -> float:
    if isinstance(given, float) and math.isfinite(given):
        return float(given)  # a NumPy float is a float too
    if given is None and what == "the reading":
        raise ReadingError(_NONE)
    if isinstance(given, (str, bytes, bool)) or given is None:
        raise ReadingError(f"{what} is {brief(given)}, not a number{_instead(given, goals)}")
    try:
        number = _as_float(given)
    except Exception:  # any error that a foreign type raises when it cannot be converted
        raise ReadingError(f"{what} is {brief(given)}, not a number{_instead(given, goals)}") from None
    if not math.isfinite(number):
        raise ReadingError(f"{what} is {number}; only finite numbers can be compared")
    return number


def _instead(given: Any, goals: Goals | None) -> str:
    """Say what to give in place of something that is not a number."""
    if isinstance(given, (Mapping, tuple, list)):
        return f"; give {_example(goals)}"
    if isinstance(given, (str, bytes)):
        return "; convert it with float(...)"
    return "; give one number, such as its mean" if hasattr(given, "mean") else ""


def _as_float(given: Any) -> float:
    """A number of any type; PyTorch warns of a tensor with a gradient, such as a loss, unless it is detached."""
    return float(given.detach() if hasattr(given, "detach") else given)


def _metric(name: str, given: Any) -> Any:
    if isinstance(given, str):
        return shorten_text(given)
    try:
        return _as_float(given)
    except Exception:
        return shorten_json(f"the reading's metric {name!r}", given)


def numbers_and_details(reading: Reading) -> tuple[dict[str, float] | None, dict[str, Any] | None]:
    """The metrics of a checked reading that are numbers, and the others; None if there are none."""
    numbers = {name: m for name, m in reading.metrics.items() if isinstance(m, float)}
    details = {name: m for name, m in reading.metrics.items() if name not in numbers}
    return numbers or None, details or None


def refuse_other_value(trial: int, step: int, known: Reading, given: object) -> None:
    """A reading that is known already may be reported again, with the same value."""
    reading = as_reading(given)
    value = known.value if reading.value is None else reading.value
    other = [name for name, m in reading.metrics.items() if name in known.metrics and m != known.metrics[name]]
    if value != known.value or (reading.value is None and other):
        raise ReadingError(
            f"step {step} of trial {trial} has the reading {known!r} and is now reported as {given!r}"
            if other
            else f"step {step} of trial {trial} has the reading {known.value!r} and is now reported as {value!r}"
        )


def readings_by_step(start: int, until: int, readings: object, where: str = "the grant") -> Mapping[int, object]:
    """A number is the reading at ``until``, a list has one a step, a mapping says which step each is of.

    A mapping of names to numbers is one reading.
    """
    if isinstance(readings, Mapping) and readings and all(map(_is_name, readings)):
        by_step: dict[int, object] = {until: readings}
    elif isinstance(readings, Mapping):
        by_step = dict(sorted((_whole(step), reading) for step, reading in readings.items()))
    else:
        several = _list_parts(readings)
        by_step = {until: readings} if several is None else dict(enumerate(several, start + 1))
    for step in by_step:
        if not start < step <= until:
            steps = f"runs from {start + 1} to {until}" if until > start + 1 else f"has only step {until}"
            raise ReadingError(f"step {brief(step)} is outside of {where}, which {steps}")
    return by_step


def _is_name(key: object) -> bool:
    return isinstance(key, str) and not key.isdecimal()


def _whole(step: object) -> int:
    try:
        return index(step)  # type: ignore[arg-type]
    except TypeError:
        raise ReadingError(f"{step!r} is not a step; a step is a whole number") from None


def _list_parts(readings: object) -> list[object] | None:
    """The parts of a list, a tuple or an array; None if this is a single reading."""
    if isinstance(readings, (str, bytes, Reading)):
        return None
    try:
        return list(readings)  # type: ignore[call-overload,no-any-return]
    except TypeError:
        return None
