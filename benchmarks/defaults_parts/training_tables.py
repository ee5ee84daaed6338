"""The table of ``defaults.py`` on real trainings: who tunes best, by validation and by test values."""

from __future__ import annotations

import numpy as np
from common import Options
from measurements import Row

from defaults_parts.comparison import (
    OURS,
    PEERS,
    Comparison,
    Losses,
    compared,
    cost_rows,
    differences,
    limited,
    loss,
    mean_rows,
    rank_rows,
)
from defaults_parts.tables import HALVES, QUICK_METHODS
from defaults_parts.trainings import trainings as tasks_of_trainings

TRAININGS = 12
LABEL = f"{TRAININGS} trainings"
LOSSES = {
    "validation": "seen",
    "validation of study.best": "best",
    "test at the best seen": "seen_test",
    "test of study.best": "best_test",
}


def trainings(options: Options) -> list[Row]:
    """Real trainings: validation and test values, normalised (0 is the best of all runs, 1 random search's mean)."""
    tasks, methods = tasks_of_trainings(), (*OURS, *PEERS)
    if options.quick:
        tasks, methods = tasks[::5], QUICK_METHODS
    found = compared(tasks, methods, options.seeds, TRAININGS)
    losses = {what: found.array(loss(name)) for what, name in LOSSES.items()}
    rows = [
        *mean_rows(found, _normalised(found, losses), LABEL),
        *rank_rows(found, losses, LABEL),
        *differences(found, _normalised(found, losses), LABEL),
        *cost_rows(found, LABEL),
    ]
    for prefix, places in HALVES.items():
        if found.tasks[places]:
            half = {what: values[places] for what, values in losses.items()}
            rows += rank_rows(found.of_tasks(places), half, LABEL, prefix)
    return [*rows, *_by_task(found)]


def _normalised(found: Comparison, losses: Losses) -> Losses:
    """0 is the least loss of all runs on the task, 1 the mean of random search."""
    place = list(found.methods).index("random")
    scaled = {}
    for what, values in losses.items():
        least = values.min(axis=(1, 2), keepdims=True)
        random = values[:, :, [place]].mean(axis=1, keepdims=True)
        scaled[what] = (values - least) / np.where(random > least, random - least, 1.0)
    return scaled


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
