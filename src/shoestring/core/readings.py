"""A reading: what an objective gives, checked before it is used, in all the forms that ``tell`` takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from shoestring.errors import ReadingError, brief


@dataclass(frozen=True, slots=True, init=False)
class Reading:
    """One observed value, optionally with bounds, a cost and extra metrics.

    ``value`` is what is tuned; ``low`` and ``high`` are the ends of its 95 % interval, if you know it, and ``cost``
    is what the step cost, in the unit of ``Budget(cost=...)``. Any other keyword is a metric that is kept with the
    reading.

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


def reading_with(value: Any, metrics: Mapping[str, Any]) -> Reading:
    """A reading from a value, or from a reading, and further metrics; nothing is checked yet."""
    if not isinstance(value, Reading):
        return Reading(value, **metrics)
    own = {"low": value.low, "high": value.high, "cost": value.cost, **value.metrics}
    return Reading(value.value, **{**own, **metrics})


def checked_reading(given: object) -> Reading:
    """A usable reading from what an objective gave, or an error that says why it is not one."""
    if not isinstance(given, Reading):
        return Reading(_number("the reading", given))
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
        return float(given)  # a NumPy float is a float too
    if isinstance(given, (str, bytes, bool)) or given is None:
        raise ReadingError(f"{what} is {brief(given)}, not a number")
    try:
        number = _as_float(given)
    except Exception:  # any error that a foreign type raises when it cannot be converted
        instead = "; give ss.Reading(loss, accuracy=...)" if isinstance(given, (Mapping, tuple, list)) else ""
        raise ReadingError(f"{what} is {brief(given)}, not a number{instead}") from None
    if not math.isfinite(number):
        raise ReadingError(f"{what} is {number}; only finite numbers can be compared")
    return number


def _as_float(given: Any) -> float:
    """A number of any type; PyTorch warns of a tensor with a gradient, such as a loss, unless it is detached."""
    return float(given.detach() if hasattr(given, "detach") else given)


def _metric(name: str, given: Any) -> float:
    try:
        return _as_float(given)
    except Exception:
        raise ReadingError(f"the reading's metric {name!r} is {brief(given)}, not a number") from None


def refuse_other_value(trial: int, step: int, known: Reading, given: object) -> None:
    """A reading that is known already may be reported again, with the same value."""
    value = given.value if isinstance(given, Reading) else given
    if value != known.value:
        raise ReadingError(
            f"step {step} of trial {trial} has the reading {known.value!r} and is now reported as {value!r}"
        )


def readings_by_step(start: int, until: int, readings: object, where: str = "the grant") -> Mapping[int, object]:
    """A number is the reading at ``until``, a list has one a step, a mapping says which step each is of."""
    if isinstance(readings, Mapping):
        by_step = dict(sorted((_whole(step), reading) for step, reading in readings.items()))
    else:
        several = _listed(readings)
        by_step = {until: readings} if several is None else dict(enumerate(several, start + 1))
    for step in by_step:
        if not start < step <= until:
            steps = f"runs from {start + 1} to {until}" if until > start + 1 else f"has only step {until}"
            raise ReadingError(f"step {brief(step)} is outside of {where}, which {steps}")
    return by_step


def _whole(step: object) -> int:
    try:
        return index(step)  # type: ignore[arg-type]
    except TypeError:
        raise ReadingError(f"{step!r} is no step; a step is a whole number") from None


def _listed(readings: object) -> list[object] | None:
    """The parts of a list, a tuple or an array; None if this is a single reading."""
    if isinstance(readings, (str, bytes, Reading)):
        return None
    try:
        return list(readings)  # type: ignore[call-overload,no-any-return]
    except TypeError:
        return None
