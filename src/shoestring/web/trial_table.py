"""The table of trials, as the page loads it: columns, and the rows that changed since a position of the log."""

from __future__ import annotations

import json

from shoestring.core.history import History, TrialRecord
from shoestring.core.planned import origin_of
from shoestring.views.selection import cells_of, columns_of
from shoestring.views.states import is_over
from shoestring.views.trace import Trace

_LONGEST_MESSAGE = 300


def trials_json(trace: Trace, since: int) -> str:
    """The trials that changed since a position, as columns and rows of plain values."""
    history = trace.history
    names, metrics = list(history.codec.space.keys()), _metrics(history)
    rows = [
        [
            *cells,
            message and message[:_LONGEST_MESSAGE],
            *map(trial.config.get, names),
            *_cells(trial, metrics),
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
            *(f"metric.{name}" if name in columns else name for name in metrics),
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
    """Where the configuration was planned from, in a study with a plan."""
    return [origin_of(history, trial)] if history.opened.plan else []


def _metrics(history: History) -> list[str]:
    """The metrics of the readings, in the order in which they came."""
    found: dict[str, None] = {}
    for trial in history.trials:
        found |= dict.fromkeys(trial.metrics)
    return list(found)


def _cells(trial: TrialRecord, metrics: list[str]) -> list[object]:
    own = trial.metrics if metrics else {}
    return [_finite(own.get(name)) for name in metrics]


def _finite(value: object) -> object:
    return str(value) if isinstance(value, float) and value - value != 0 else value
