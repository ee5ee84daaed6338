"""The table of ``defaults.py`` on real trainings: who tunes best, by validation and by test values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.comparison import (
    OURS,
    PEERS,
    Array,
    Comparison,
    compared,
    cost_rows,
    differences,
    limited,
    loss,
    mean_rows,
    measured,
    rank_rows,
)
from benchmarks.harness.measurements import Row
from benchmarks.suites.defaults.recommendation import TRAININGS
from benchmarks.suites.defaults.tables import HALVES, QUICK_METHODS
from benchmarks.tasks.trainings import trainings as tasks_of_trainings

NOW = ("random", "bhpt-eps", "auto", "Optuna TPE + SHA")
LABEL = f"{TRAININGS} trainings"
LOSSES = {
    "validation": "seen",
    "validation of study.best": "best",
    "test at the best seen": "seen_test",
    "test of study.best": "best_test",
}


def trainings(options: Options) -> list[Row]:
    """Real trainings: validation and test losses (0 is the best of all runs on a task, 1 the median one) and ranks."""
    return _table(options, (*OURS, *PEERS))


def trainings_now(options: Options) -> list[Row]:
    """Real trainings with the default as it is now, against few others: the same losses, scaled by these runs alone."""
    return _table(options, NOW)


def _table(options: Options, methods: Sequence[str]) -> list[Row]:
    tasks = tasks_of_trainings()
    if options.quick:
        tasks, methods = tasks[::6], QUICK_METHODS
    found = compared(tasks, methods, options.seeds, TRAININGS)
    losses = {what: found.array(loss(name)) for what, name in LOSSES.items()}
    scaled = {what: _normalised(values) for what, values in losses.items()}
    rows = [
        *mean_rows(found, scaled, LABEL),
        *_first_in_rank(rank_rows(found, losses, LABEL), methods),
        *differences(found, {what: scaled[what] for what in ("validation", "test of study.best")}, LABEL),
        *cost_rows(found, LABEL),
    ]
    for prefix, places in HALVES.items():
        half = {what: values[places] for what, values in losses.items()}
        rows += rank_rows(found.of_tasks(places), half, LABEL, prefix)
    return [*rows, *_by_task(found)]


def _normalised(losses: Array) -> Array:
    """0 is the least loss of all runs on the task, 1 the median one."""
    least, middle = (of(losses, axis=(1, 2), keepdims=True) for of in (np.min, np.median))
    return np.asarray((losses - least) / np.where(middle > least, middle - least, 1.0))


def _first_in_rank(rows: Sequence[Row], methods: Sequence[str]) -> list[Row]:
    """The default is to be first by validation, and by test within the critical difference of the best."""
    values = measured(rows)
    best = {
        what: min(values[f"{name}, {LABEL}: rank by {what}"] for name in methods if name != "auto")
        for what in ("validation", "test of study.best")
    }
    noise = values[f"{LABEL}: critical difference of ranks"]
    return limited(
        rows,
        {
            f"auto, {LABEL}: rank by validation": best["validation"],
            f"auto, {LABEL}: rank by test of study.best": best["test of study.best"] + noise,
        },
    )


def _by_task(found: Comparison) -> list[Row]:
    """Each task in its own units, and the default against random search, which it is to beat everywhere."""
    rows = []
    for i, task in enumerate(found.tasks):
        one = found.of_tasks(slice(i, i + 1))
        values = {what: task.sign * one.array(loss(LOSSES[what])) for what in ("validation", "test of study.best")}
        rows += mean_rows(one, values, LABEL, f"{task.name}: ")
        gap = differences(one, {"validation": one.array(loss("seen"))}, LABEL, prefix=f"{task.name}: ")
        rows += limited(gap, {f"{task.name}: auto - random, {LABEL}: validation": 0.0})
    return rows
