"""The goals of a study: its objectives, and the constraints that its recommendation has to fulfil.

A study has one objective, the value of its readings, unless it names several: ``objectives={"error": "min", "latency":
"min"}``. They are then numbers of a reading that are looked up by name, and ``value`` is the first of them.

A constraint such as ``"<= 8"`` is on any number of a reading: an objective, a metric, its ``value`` or its ``cost``.
Each reading is judged by its own number, so a violation may be temporary. With ``"<= 8 always"`` a trial that once
violated the constraint violates it from then on, by as much as it ever did.

A violation is the amount by which a reading misses a constraint, 0 if it fulfils it. Feasible readings have none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoestring.errors import MethodError, brief

if TYPE_CHECKING:
    from shoestring.core.readings import Reading

# Numbers of a reading that are not objectives.
_BOUNDS = ("low", "high")
_NAMED_BOUND = re.compile(r"\s*([^\s<>=]+)\s*((?:<=|>=|<|>).*?)\s*")
_CONSTRAINT = re.compile(r"\s*(<=|>=|<|>)\s*([^\s]+?)\s*(always)?\s*")


@dataclass(frozen=True)
class Constraint:
    """A bound on a number of every reading: an upper one has ``sign`` 1, a lower one -1."""

    name: str
    sign: int
    strict: bool
    bound: float
    always: bool
    text: str

    def violation(self, value: float) -> float:
        """By how much a value misses the bound; 0 if it does not.

        >>> constraint_on("memory", "<= 8").violation(9.5), constraint_on("memory", "<= 8").violation(8)
        (1.5, 0.0)
        """
        excess = self.sign * (value - self.bound)
        return math.ulp(self.bound) if self.strict and excess == 0 else max(excess, 0.0)

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


def constraint_on(name: str, text: object) -> Constraint:
    """A constraint as a person writes it."""
    match = _CONSTRAINT.fullmatch(text) if isinstance(text, str) else None
    try:
        bound = float(match[2]) if match else math.nan
    except ValueError:
        bound = math.nan
    if match is None or not math.isfinite(bound):
        raise MethodError(
            f"the constraint on {brief(name)} is {brief(text)}; write a comparison and a number, such as '<= 8', "
            "'< 0.01' or '>= 0.9', and '<= 8 always' if one reading that violates it condemns the trial"
        )
    sign = 1 if match[1].startswith("<") else -1
    return Constraint(name, sign, "=" not in match[1], bound, bool(match[3]), " ".join(str(text).split()))


@dataclass(frozen=True)
class Goals:
    """The objectives of a study by ``names``, each with a ``sign`` that makes its values losses, and its constraints.

    ``named`` is False for the one objective of a study that names none, which is the value of its readings.
    """

    names: tuple[str, ...]
    signs: tuple[float, ...]
    constraints: tuple[Constraint, ...]
    named: bool

    @property
    def several(self) -> bool:
        return len(self.names) > 1

    @property
    def plain(self) -> bool:
        """One objective and no constraint: a reading is judged by its value alone."""
        return not self.several and not self.constraints

    def values(self, reading: Reading) -> dict[str, float]:
        """The values of the objectives, as the user gave them."""
        return {name: number_of(reading, name) for name in self.names}

    def losses(self, reading: Reading) -> tuple[float, ...]:
        """The values of the objectives, small is good."""
        return tuple(sign * number_of(reading, name) for sign, name in zip(self.signs, self.names, strict=True))

    def violations(self, reading: Reading, before: Sequence[float]) -> tuple[float, ...]:
        """By how much a reading misses each constraint; ``before`` is what the trial's last reading missed."""
        found = [constraint.violation(number_of(reading, constraint.name)) for constraint in self.constraints]
        if not before:
            return tuple(found)
        return tuple(
            max(now, earlier) if constraint.always else now
            for constraint, now, earlier in zip(self.constraints, found, before, strict=True)
        )


def goals(
    objectives: Mapping[str, str] | None = None, constraints: Mapping[str, str] | None = None, mode: str = "min"
) -> Goals:
    """The goals of a study, checked.

    >>> goals({"error": "min", "speed": "max"}, {"memory": "<= 8"}).signs
    (1.0, -1.0)
    """
    named = {"value": mode} if objectives is None else objectives
    if not isinstance(named, Mapping) or not named:
        raise MethodError(
            f"objectives is {brief(objectives)}; it must name them with their mode: {_modes_by_name(objectives)}"
        )
    for place, (name, one) in enumerate(named.items()):
        if not isinstance(name, str) or not name or name in (*_BOUNDS, "self"):
            raise MethodError(
                f"{brief(name)} cannot be the name of an objective; it must be a text, not low, high or self"
            )
        if name == "value" and place:
            raise MethodError(
                "the objective 'value' is not the first one, and the value of a reading is its first objective: name "
                "it first, or differently"
            )
        if one not in ("min", "max"):
            raise MethodError(f"the objective {name!r} has the mode {brief(one)}; it must be 'min' or 'max'")
    given = {} if constraints is None else constraints
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        raise MethodError(
            f"constraints is {brief(constraints)}; it must give bounds by name: {_bounds_by_name(constraints)}"
        )
    for name in given.keys() & {*_BOUNDS}:
        raise MethodError(f"a constraint cannot be on {name!r}, a bound of the value; it is on a value or a metric")
    bounds = tuple(constraint_on(name, text) for name, text in given.items())
    signs = tuple(-1.0 if one == "max" else 1.0 for one in named.values())
    return Goals(tuple(named), signs, bounds, objectives is not None)


def _modes_by_name(given: object) -> dict[str, str]:
    """The objectives of a text or a list of texts as they should be given; an example if they are something else."""
    names = _texts(given)
    return dict.fromkeys(names, "min") if names else {"error": "min", "speed": "max"}


def _bounds_by_name(given: object) -> dict[str, str]:
    found = [_NAMED_BOUND.fullmatch(text) for text in _texts(given)]
    read = {match[1]: match[2] for match in found if match}
    return read if read and len(read) == len(found) else {"memory": "<= 8"}


def _texts(given: object) -> list[str]:
    """The texts of a list, or the only one; nothing if something else is among them."""
    texts = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else ()
    return [text for text in texts if isinstance(text, str)] if all(isinstance(text, str) for text in texts) else []


def number_of(reading: Reading, name: str) -> Any:
    """Find a number of a reading by name: a metric, or its value, cost or bounds; None if there is none."""
    if name in reading.metrics:
        return reading.metrics[name]
    return getattr(reading, name) if name in ("value", "cost", *_BOUNDS) else None
