"""The table of trials, as the page loads it: columns, and the rows that changed since a position of the log."""

from __future__ import annotations

import json
import math

from shoestring.core.history import History, TrialRecord
from shoestring.core.planned import origin_of
from shoestring.views.selection import cells_of, columns_of
from shoestring.views.states import is_over
from shoestring.views.trace import Trace

# Characters of a text in a cell.
_LONGEST = 300


def trials_json(trace: Trace, since: int) -> str:
    """The trials that changed since a position, as columns and rows of plain values."""
    history = trace.history
    names, said = list(history.codec.space.keys()), _remarks(history)
    rows = [
        [
            *cells,
            message and message[:_LONGEST],
            *map(trial.config.get, names),
            *_cells(trial, said),
            *_origin(history, trial),
        ]
        for trial in history.trials
        if trace.touched[trial.index] >= since
        for *cells, message in [cells_of(trial, history.sign)]
    ]
    columns = columns_of(history)
    answer = {
        "position": history.position,
        "columns": [
            *columns,
            *(f"{kind}.{name}" if name in columns else name for kind, name in said),
            *(["planned from"] if history.opened.plan else []),
        ],
        "parameters": columns[len(columns) - len(names) :],
        "rows": rows,
        "over": is_over(history),
        "iterative": (history.max_resource or 1) > 1,
        "largest": history.opened.mode == "max",
    }
    return json.dumps(answer, default=str, allow_nan=False, separators=(",", ":"))


def _origin(history: History, trial: TrialRecord) -> list[str]:
    """Return where the configuration was planned from, in a study with a plan."""
    return [origin_of(history, trial)] if history.opened.plan else []


def _remarks(history: History) -> list[tuple[str, str]]:
    """The metrics, attributes and notes of the trials, in the order in which they came."""
    found: dict[tuple[str, str], None] = {}
    for trial in history.trials:
        if trial.metrics:
            found |= dict.fromkeys(("metric", name) for name in trial.metrics)
        if trial.attributes:
            found |= dict.fromkeys(("attribute", name) for name in trial.attributes)
        if trial.notes:
            found["note", "note"] = None
    return list(found)


def _cells(trial: TrialRecord, said: list[tuple[str, str]]) -> list[object]:
    if not said:
        return []
    values = {"metric": trial.metrics, "attribute": trial.attributes, "note": {"note": "; ".join(trial.notes) or None}}
    return [_plain(values[kind].get(name)) for kind, name in said]


def _plain(value: object) -> object:
    """A value that a cell can show: a number, a truth, or a text of limited length."""
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return (value if isinstance(value, str) else json.dumps(value, default=str))[:_LONGEST]
