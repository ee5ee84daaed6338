"""Methods compared on tasks: mean losses and ranks, what they cost, and whether a difference is more than noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from benchmarks.harness.measurements import Row, row
from benchmarks.harness.play import Job, Result, Task

Array = NDArray[np.float64]

OURS = ("random", "asha", "asha-tpe", "hyperband", "bohb", "bhpt", "bhpt-eps", "auto")
PEERS: tuple[str, ...] = ("Optuna TPE + Hyperband", "Optuna TPE + SHA", "Optuna TPE")
if find_spec("torch"):  # which Optuna's GP needs
    PEERS += ("Optuna GP",)
LEVEL = 0.95


@dataclass(frozen=True)
class Comparison:
    """The results of every method on every task with every seed; arrays have the shape (tasks, seeds, methods)."""

    tasks: Sequence[Task]
    methods: Sequence[str]
    results: Sequence[Sequence[Sequence[Result]]]

    def array(self, of: Callable[[Task, Result], float | None]) -> Array:
        """A quantity of all results. Where a run has none, it counts as the worst that the task has seen."""
        found = np.array(
            [
                [[_number(of(task, result)) for result in by_method] for by_method in by_seed]
                for task, by_seed in zip(self.tasks, self.results, strict=True)
            ]
        )
        worst = np.nanmax(found, axis=(1, 2), keepdims=True)
        return np.where(np.isnan(found), worst, found)

    def of_tasks(self, places: slice) -> Comparison:
        return Comparison(self.tasks[places], self.methods, self.results[places])

    def of_seeds(self, places: slice) -> Comparison:
        return Comparison(self.tasks, self.methods, [by_seed[places] for by_seed in self.results])

    def where(self, chosen: Callable[[Task], bool]) -> Comparison:
        kept = [i for i, task in enumerate(self.tasks) if chosen(task)]
        return Comparison([self.tasks[i] for i in kept], self.methods, [self.results[i] for i in kept])


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def compared(
    tasks: Sequence[Task], methods: Sequence[str], seeds: int, trainings: int | Callable[[Task], int]
) -> Comparison:
    """Play what was not kept, seed by seed, so that what is stopped early holds whole seeds."""
    results: list[list[list[Any]]] = [[[] for _ in range(seeds)] for _ in tasks]
    for seed in range(seeds):
        for i, task in enumerate(tasks):
            budget = trainings if isinstance(trainings, int) else trainings(task)
            results[i][seed] = [Job(task, method, budget, seed).result() for method in methods]
    return Comparison(tasks, methods, results)


# Losses by which methods are compared.


def regret_seen(task: Task, result: Result) -> float | None:
    """The regret of the best reading seen."""
    return _regret(task, result["seen"])


def regret_best(task: Task, result: Result) -> float | None:
    """The regret of what ``study.best`` names."""
    return _regret(task, result["best"])


def regret_safe(task: Task, result: Result) -> float | None:
    """The regret of the best reading of a configuration that cannot fail."""
    return _regret(task, result["safe"])


def _regret(task: Task, value: float | None) -> float | None:
    assert task.regret is not None
    return None if value is None else task.regret(value)


def loss(name: str) -> Callable[[Task, Result], float | None]:
    """A value of the result as a loss: ``seen``, ``best``, ``seen_test`` or ``best_test``."""
    return lambda task, result: None if result[name] is None else task.sign * result[name]


Losses = Mapping[str, Array]


def mean_rows(found: Comparison, losses: Losses, label: str, prefix: str = "") -> list[Row]:
    """The mean of each loss by method; the error is over tasks, as these are what differs."""
    return [
        task_row(f"{prefix}{method}, {label}: {what}", values[:, :, m])
        for what, values in losses.items()
        for m, method in enumerate(found.methods)
    ]


def rank_rows(found: Comparison, losses: Losses, label: str, prefix: str = "") -> list[Row]:
    """Mean ranks by each loss among the methods with the same task and seed, 1 is best, and the critical difference."""
    rows = [
        task_row(f"{prefix}{method}, {label}: rank by {what}", ranks(values)[:, :, m])
        for what, values in losses.items()
        for m, method in enumerate(found.methods)
    ]
    critical = critical_difference(len(found.methods), len(found.tasks))
    return [*rows, Row(f"{prefix}{label}: critical difference of ranks", critical, n=len(found.tasks))]


def cost_rows(found: Comparison, label: str) -> list[Row]:
    """Measure the costs of a run besides the objective, the share of failures, and the started configurations."""
    quantities = {"CPU seconds": "cpu", "lost steps": "lost", "configurations": "arms"}
    return mean_rows(
        found, {what: found.array(lambda task, result, n=name: result[n]) for what, name in quantities.items()}, label
    )


def differences(found: Comparison, losses: Losses, label: str, name: str = "auto", prefix: str = "") -> list[Row]:
    """One method less every other, paired by task: below 0 it is better."""
    place = list(found.methods).index(name)
    return [
        task_row(f"{prefix}{name} - {method}, {label}: {what}", values[:, :, place] - values[:, :, m])
        for what, values in losses.items()
        for m, method in enumerate(found.methods)
        if method != name
    ]


def ranks(values: Array) -> Array:
    return np.asarray(np.apply_along_axis(rankdata, 2, values))


def critical_difference(methods: int, tasks: int) -> float:
    """Nemenyi's: mean ranks over this many tasks that differ by more differ at the level of 5 %."""
    q = float(studentized_range.ppf(LEVEL, methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * tasks)))


def task_row(name: str, values: Array) -> Row:
    """``values`` has one row a task and one column a seed; with a single task the error is over seeds."""
    means = values.mean(axis=1) if len(values) > 1 else values[0]
    return replace(row(name, means.tolist()), n=values.size)


def limited(rows: Iterable[Row], at_most: Mapping[str, float]) -> list[Row]:
    """The rows, with the limits of those that have one."""
    return [replace(line, at_most=at_most[line.name]) if line.name in at_most else line for line in rows]


def measured(rows: Iterable[Row]) -> dict[str, float]:
    return {line.name: line.measured for line in rows}
