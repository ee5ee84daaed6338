"""Conditions and orders of trials, as a person types them: ``rate<0.1 and state=failed``.

A condition is a column, a comparison and a value. Nothing is evaluated as code.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shoestring._tables import with_own_names
from shoestring.core.history import History, TrialRecord
from shoestring.errors import ReadingError

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "==": operator.eq,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_COLUMNS = ("trial", "arm", "state", "step", "value", "recommended", "seconds", "message")
_CONDITION = re.compile(r"\s*([^<>=!]+?)\s*(<=|>=|!=|==|=|<|>)\s*(\"[^\"]*\"|'[^']*'|[^\s<>=!]+)\s*")


@dataclass(frozen=True)
class Condition:
    column: str
    comparison: str
    value: float | str

    def holds(self, row: dict[str, Any]) -> bool:
        """Return whether a row fulfils it; a row without a value in the column does not."""
        found = row.get(self.column)
        if found is None:
            return False
        if isinstance(self.value, str) or isinstance(found, (str, bool)):
            if self.comparison not in ("=", "==", "!="):
                raise ReadingError(
                    f"{self.column} {self.comparison} {self.value} cannot be compared: "
                    f"{found!r} and {self.value!r} are not both numbers; texts have only = and !="
                )
            given = str(self.value)
            return _OPERATORS[self.comparison](str(found), given.capitalize() if isinstance(found, bool) else given)
        return _OPERATORS[self.comparison](found, self.value)


def parse(text: str) -> list[Condition]:
    """The conditions of a text, which all have to hold; they are separated by "and" or commas.

    >>> parse("rate<0.1 and state=failed")
    [Condition(column='rate', comparison='<', value=0.1), Condition(column='state', comparison='=', value='failed')]
    """
    found = []
    for part in re.split(r"\s+and\s+|,", text):
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise ReadingError(
                f"{part.strip()!r} is not a condition; write a column, one of {' '.join(_OPERATORS)} and a value, "
                "such as 'rate<0.1', and several with 'and'"
            )
        column, comparison, value = match.groups()
        found.append(Condition(column, comparison, _value(value)))
    return found


def _value(text: str) -> float | str:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return float(text)
    except ValueError:
        return text


def row_of(trial: TrialRecord, sign: float) -> dict[str, Any]:
    """The columns of a trial: ours, its parameters, note, attributes, and the metrics of its recommended step.

    One that is called like a column before it is written as config.NAME, attribute.NAME or metric.NAME.
    """
    row: dict[str, Any] = dict(zip(_COLUMNS, cells_of(trial, sign), strict=True))
    row = with_own_names(row, "config", trial.config)
    row = with_own_names(row | {"note": "; ".join(trial.notes) or None}, "attribute", trial.attributes)
    return with_own_names(row, "metric", trial.metrics)


def cells_of(trial: TrialRecord, sign: float) -> tuple[Any, ...]:
    """The columns that the trials of every study have."""
    last, found = trial.readings.get(trial.step), trial.recommended
    value = None if last is None else last.value
    recommended = None if found is None else sign * found.loss
    message = trial.message or None
    return trial.index, trial.arm, trial.state, trial.step, value, recommended, trial.seconds, message


def columns_of(history: History) -> list[str]:
    """List the columns of all trials: first the fixed ones, then the parameters."""
    parameters = history.codec.space.keys()
    return [*_COLUMNS, *(f"config.{name}" if name in _COLUMNS else name for name in parameters)]


def select(
    trials: Iterable[TrialRecord], sign: float, where: str | None = None, sort: str | None = None
) -> list[TrialRecord]:
    """The trials that fulfil ``where``, in the order of the column ``sort``; ``-column`` is from large to small.

    Trials without a value in the column come last.
    """
    if not where and not sort:
        return list(trials)
    rows = [(row_of(trial, sign), trial) for trial in trials]
    columns = list(dict.fromkeys(name for row, _ in rows for name in row))
    conditions = parse(where) if where else []
    key = (sort or "").removeprefix("-")
    for column in (*(condition.column for condition in conditions), *([key] if key else [])):
        if rows and column not in columns:
            raise ReadingError(f"there is no column {column!r}; there are {', '.join(columns)}")
    kept = [(row, trial) for row, trial in rows if all(condition.holds(row) for condition in conditions)]
    if key:
        known = [pair for pair in kept if pair[0].get(key) is not None]
        known.sort(key=lambda pair: _sortable(pair[0][key]), reverse=(sort or "").startswith("-"))
        kept = [*known, *(pair for pair in kept if pair[0].get(key) is None)]
    return [trial for _, trial in kept]


def _sortable(value: Any) -> tuple[float, str]:
    """Numbers before texts."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return (value, "") if is_number else (math.inf, str(value))
