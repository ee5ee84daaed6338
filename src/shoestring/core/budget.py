"""The budget of a study, and the ledger of what was spent of it.

Four units, any mix of them; the first one exhausted ends the study:

* ``steps``: units of training, over all trials;
* ``evaluations``: trials started, replicates included;
* ``seconds``: time during which at least one trial was running;
* ``cost``: what the readings say they cost (:class:`~shoestring.Reading`, ``cost=``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoestring._tables import ShownAsTable
from shoestring.errors import BudgetError, brief

# Whole numbers in a log are below this, so that every reader of JSON and every database can hold them.
LARGEST_WHOLE = 2**63
UNITS = ("steps", "evaluations", "seconds", "cost")

# Room for rounding in the sums of real numbers; a time stamp itself is exact to about 1e-7 s.
SLACK = {"steps": 0.0, "evaluations": 0.0, "seconds": 1e-6, "cost": 1e-9}

_WORDS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), ("seconds", 1.0)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), ("seconds", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("seconds", 3600.0)),
    **dict.fromkeys(("d", "day", "days"), ("seconds", 86400.0)),
    **dict.fromkeys(("step", "steps", "epoch", "epochs"), ("steps", 1.0)),
    **dict.fromkeys(("evaluation", "evaluations", "trial", "trials"), ("evaluations", 1.0)),
    "cost": ("cost", 1.0),
}

_PART = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*([A-Za-z]+)\s*")


@dataclass(frozen=True, init=False)
class Budget(ShownAsTable):
    """The total allowance of a study.

    Give any of ``steps`` (of all trials together), ``evaluations`` (trials started), ``seconds`` (during which
    something ran) and ``cost`` (the sum of what readings say), or the same as a ``text``. The first one that is used
    up ends the study.

    >>> from shoestring import Budget
    >>> Budget("500 steps")
    Budget(steps=500)
    >>> Budget("2h") == Budget(seconds=7200)
    True
    >>> Budget("1h 30m, 400 steps")
    Budget(steps=400, seconds=5400.0)
    """

    steps: int | None
    evaluations: int | None
    seconds: float | None
    cost: float | None
    limited: tuple[str, ...] = field(compare=False, repr=False)

    def __init__(
        self,
        text: str | None = None,
        *,
        steps: int | None = None,
        evaluations: int | None = None,
        seconds: float | None = None,
        cost: float | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "steps": steps,
            "evaluations": evaluations,
            "seconds": seconds,
            "cost": cost,
        }
        if text is not None:
            for unit, amount in _parse(text).items():
                if given[unit] is not None:
                    raise BudgetError(f"the budget gives {unit} twice: {text!r} and {unit}={brief(given[unit])}")
                given[unit] = amount
        if all(amount is None for amount in given.values()):
            raise BudgetError(
                "the budget is empty: give at least one of steps=, evaluations=, seconds=, cost=, "
                'or a text such as Budget("500 steps") or Budget("2h")'
            )
        for unit, amount in given.items():
            object.__setattr__(self, unit, None if amount is None else _amount(unit, amount))
        object.__setattr__(self, "limited", tuple(unit for unit in UNITS if given[unit] is not None))

    def __repr__(self) -> str:
        parts = [f"{unit}={amount!r}" for unit, amount in self.limits().items()]
        return f"Budget({', '.join(parts)})"

    def __str__(self) -> str:
        return ", ".join(format_amount(unit, limit) for unit, limit in self.limits().items())

    def _pairs(self) -> tuple[str, dict[str, float]]:
        return "Budget", self.limits()

    def limits(self) -> dict[str, float]:
        """The units that are limited, with their limits."""
        return {unit: getattr(self, unit) for unit in self.limited}


def format_amount(unit: str, number: float) -> str:
    """An amount of a unit, for people to read.

    >>> format_amount("steps", 300), format_amount("evaluations", 1.0), format_amount("cost", 1)
    ('300 steps', '1 evaluation', '1 cost')
    """
    return f"{number:g} {unit.removesuffix('s') if number == 1 else unit}"


def as_budget(given: object) -> Budget:
    """A budget from a budget, its text, or a mapping of unit to amount."""
    if isinstance(given, Budget):
        return given
    if isinstance(given, str):
        return Budget(given)
    if isinstance(given, Mapping):
        unknown = set(given) - set(UNITS)
        if unknown:
            raise BudgetError(f"unknown units {sorted(unknown)}; a budget has {', '.join(UNITS)}")
        return Budget(**given)
    raise BudgetError(
        f"a budget was expected, {brief(given)} was given; "
        "write a text, such as '300 steps', '50 evaluations' or '2h', or Budget(steps=300, seconds=3600)"
    )


def _parse(text: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        if _PART.sub("", part):
            raise BudgetError(_unreadable(text))
        for number, word in _PART.findall(part):
            unit, factor = _WORDS.get(word.lower(), ("", 0.0))
            if not unit:
                raise BudgetError(_unreadable(text))
            if unit in amounts and unit != "seconds":  # "1h 30m" is one duration
                raise BudgetError(f"the budget {text!r} gives {unit} twice: give each unit once")
            amounts[unit] = amounts.get(unit, 0.0) + float(number) * factor
    if not amounts:
        raise BudgetError(_unreadable(text))
    return amounts


def _unreadable(text: str) -> str:
    return (
        f"the budget {text!r} cannot be read: write a number and a unit, such as '500 steps', "
        "'50 evaluations', '90s', '30m', '2h', '1h 30m', '12.5 cost', or several with commas"
    )


def _amount(unit: str, amount: object) -> float | int:
    try:
        number = float(amount)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(amount, (bool, str)) or not math.isfinite(number) or number <= 0:
        raise BudgetError(f"{unit}={brief(amount)} is not a budget: a positive, finite number is needed")
    if unit not in ("steps", "evaluations"):
        return number
    if number != int(number):
        raise BudgetError(f"{unit}={brief(amount)} is not a budget: a whole number is needed")
    if number >= LARGEST_WHOLE:
        raise BudgetError(
            f"{unit}={brief(amount)} is not a budget: it must be below 2**63; without a limit, leave it out"
        )
    return int(number)


class Amounts(dict[str, float]):
    """Amounts by unit, as items or as attributes.

    >>> from shoestring.core.budget import Amounts
    >>> Amounts(steps=3).steps
    3
    """

    def __getattr__(self, unit: str) -> float:
        try:
            return self[unit]
        except KeyError:
            raise AttributeError(f"there is no amount of {unit!r} here; there is {', '.join(self)}") from None


@dataclass
class Ledger:
    """The amounts that were spent and that are committed to running trials, in every unit.

    ``reserved`` is the part of ``cost`` that is committed to running trials; readings are paid from it first.
    """

    budget: Budget
    steps: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    committed_steps: int = 0
    reserved: float = 0.0

    def spent(self) -> dict[str, float]:
        """Spent so far, in all four units."""
        return {unit: getattr(self, unit) for unit in UNITS}

    def free(self, unit: str) -> float:
        """Compute what is neither spent nor committed; infinite without a limit."""
        limit = getattr(self.budget, unit)
        if limit is None:
            return math.inf
        committed = self.committed_steps if unit == "steps" else self.reserved if unit == "cost" else 0
        return float(limit - getattr(self, unit) - committed)

    def allows(self, unit: str, amount: float, reserved: float = 0.0) -> bool:
        """Tell whether an amount is within what is free and what was reserved for it; rounding is allowed here only."""
        return amount <= reserved + self.free(unit) + SLACK[unit]

    def payable(self, cost: float, reserved: float = 0.0) -> float:
        """The part of a cost that can be charged."""
        return min(cost, max(reserved + self.free("cost"), 0.0))

    def exhausted_unit(self) -> str | None:
        """The first unit with nothing left to commit, if there is one."""
        for unit in self.budget.limited:
            if self.free(unit) <= SLACK[unit]:
                return unit
        return None

    def exceeded_unit(self) -> str | None:
        """The first unit in which spent and committed exceed the budget, if there is one."""
        for unit in self.budget.limited:
            if self.free(unit) < -SLACK[unit]:
                return unit
        return None
