"""The tables of ``defaults.py`` on real trainings: who tunes best, and which reading to recommend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from common import Options
from measurements import Row

from defaults_parts.comparison import (
    OURS,
    PEERS,
    Array,
    Comparison,
    Losses,
    compared,
    cost_rows,
    differences,
    limited,
    loss,
    mean_rows,
    rank_rows,
    task_row,
)
from defaults_parts.play import Result, Task
from defaults_parts.tables import HALVES, QUICK_METHODS
from defaults_parts.trainings import trainings as tasks_of_trainings

TRAININGS = 15
LABEL = f"{TRAININGS} trainings"
LOSSES = {
    "validation": "seen",
    "validation of study.best": "best",
    "test at the best seen": "seen_test",
    "test of study.best": "best_test",
}


def _played(options: Options, methods: Sequence[str]) -> Comparison:
    tasks = tasks_of_trainings()
    return compared(tasks[::4] if options.quick else tasks, methods, options.seeds, 5 if options.quick else TRAININGS)


def trainings(options: Options) -> list[Row]:
    """Real trainings: validation and test values, normalised (0 is the best of all runs, 1 random search's mean)."""
    found = _played(options, QUICK_METHODS if options.quick else (*OURS, *PEERS))
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


# Which reading of a run is recommended, as (loss, trial, step); the least is taken, the earlier one if they are equal.
Candidate = tuple[float, int, int]


def _last(losses: Sequence[float], trial: int) -> list[Candidate]:
    return [(losses[-1], trial, len(losses) - 1)]


def _best(losses: Sequence[float], trial: int) -> list[Candidate]:
    return [(value, trial, step) for step, value in enumerate(losses)]


def _median(losses: Sequence[float], trial: int) -> list[Candidate]:
    """Running medians of three, each at the step in the middle; of two readings the worse one, at the later step."""
    if len(losses) < 3:
        return [(max(losses), trial, len(losses) - 1)]
    return [(median(losses[step - 1 : step + 2]), trial, step) for step in range(1, len(losses) - 1)]


RULES: dict[str, Callable[[Sequence[float], int], list[Candidate]]] = {
    "last reading": _last,
    "best reading": _best,
    "median of three": _median,
}


def recommended_test(rule: str) -> Callable[[Task, Result], float | None]:
    """The test loss of the reading that a rule recommends after a run."""

    def of(task: Task, result: Result) -> float | None:
        curves = [[task.sign * value for value in curve] for curve in result["curves"]]
        found = [one for i, losses in enumerate(curves) if losses for one in RULES[rule](losses, i)]
        if not found:
            return None
        _, trial, step = min(found)
        return float(task.sign * result["tests"][trial][step])

    return of


def recommendation(options: Options) -> list[Row]:
    """Which reading to recommend: the test loss by each rule, over the runs of all our methods."""
    found = _played(options, [name for name in QUICK_METHODS if name in OURS] if options.quick else OURS)
    losses = {rule: found.array(recommended_test(rule)) for rule in RULES}
    scaled = _scaled_alike(losses)
    rows = []
    for prefix, places in {"": slice(None), **HALVES}.items():
        for rule, values in scaled.items():
            if len(values[places]):
                rows.append(task_row(f"{prefix}{rule}: test", _flat(values[places])))
                gap = values[places] - scaled["last reading"][places]
                rows.append(task_row(f"{prefix}{rule} - last reading: test", _flat(gap)))
    auto = list(found.methods).index("auto")
    for rule, values in scaled.items():
        rows.append(task_row(f"auto, {rule}: test", values[:, :, auto]))
        for i, task in enumerate(found.tasks):
            gap = losses[rule][i] - losses["last reading"][i]
            rows.append(task_row(f"{task.name}: {rule} - last reading: test", _flat(gap[None])))
    return rows


def _flat(values: Array) -> Array:
    """(tasks, seeds, methods) as one row a task."""
    return values.reshape(len(values), -1)


def _scaled_alike(losses: Losses) -> Losses:
    """In units of each task's standard deviation over all runs and rules."""
    everything = np.stack(list(losses.values()))
    spread = everything.std(axis=(0, 2, 3), keepdims=False)[:, None, None]
    centre = everything.mean(axis=(0, 2, 3))[:, None, None]
    return {rule: (values - centre) / np.where(spread > 0, spread, 1.0) for rule, values in losses.items()}
