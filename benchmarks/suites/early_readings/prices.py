"""The default against itself blind to what steps cost, with budgets in seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.early_readings import ours
from benchmarks.tasks.yahpo_lcbench import Array, names, references

TRAININGS = (5, 7, 10, 14, 20)
COMPARED = (10, 14, 20)
METHODS = ("auto", "blind to prices")


def table(options: Options) -> list[Row]:
    """Seconds: the default, and what it needs for the regret that it has when it is blind to prices."""
    tasks, trainings = (names()[::9], TRAININGS[:2]) if options.quick else (names(), TRAININGS)
    regrets = {method: _regrets(method, tasks, trainings, options.seeds) for method in METHODS}
    rows = [
        row(f"{method}, {n} trainings: regret", found[:, :, b].mean(axis=0).tolist())
        for method, found in regrets.items()
        for b, n in enumerate(trainings)
    ]
    seeing, blind = (regrets[method].mean(axis=0) for method in METHODS)
    for b, n in enumerate(trainings):
        rows.append(row(f"auto - blind to prices, {n} trainings", (seeing - blind)[:, b].tolist()))
    for n in (n for n in COMPARED if n in trainings):
        rows.append(share_of_seconds(f"share of seconds, {n} trainings", trainings, n, seeing, blind))
    return rows


def _regrets(method: str, tasks: Sequence[str], trainings: Sequence[int], seeds: int) -> Array:
    """Regrets of the shape (tasks, seeds, budgets)."""
    return np.array([[_of(method, task, seed, trainings) for seed in range(seeds)] for task in tasks])


def _of(method: str, task: str, seed: int, trainings: Sequence[int]) -> list[float]:
    return [references()[task].regret(error) for error in ours.errors(method, task, seed, "seconds", trainings)]


def share_of_seconds(name: str, trainings: Sequence[int], budget: int, seeing: Array, blind: Array) -> Row:
    """The share of a budget that suffices for the regret of the blind one; the error is a jackknife over seeds.

    ``seeing`` and ``blind`` have the shape (seeds, budgets).
    """

    def share(kept: Array) -> float:
        wanted = float(blind[kept][:, trainings.index(budget)].mean())
        return seconds_for(wanted, trainings, seeing[kept].mean(axis=0)) / budget

    seeds = np.arange(len(seeing))
    found = share(seeds)
    if len(seeds) < 2:
        return Row(name, found)
    left_out = np.array([share(seeds[seeds != seed]) for seed in seeds])
    error = float(np.sqrt((len(seeds) - 1) * left_out.var()))
    return Row(name, found, error, len(seeds))


def seconds_for(wanted: float, trainings: Sequence[int], regrets: Array) -> float:
    """The budget at which a regret is reached first, by interpolation on a log scale; at the ends the nearest budget.

    >>> from benchmarks.suites.early_readings.prices import seconds_for
    >>> seconds_for(0.5, (2, 8), [1.0, 0.0])
    4.0
    """
    falling = np.minimum.accumulate(np.asarray(regrets))
    found = np.interp(-wanted, -falling, np.log(trainings))
    return float(np.round(np.exp(found), 12))
