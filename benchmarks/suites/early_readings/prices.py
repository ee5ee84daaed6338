"""The default against itself blind to what steps cost, with budgets in seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.early_readings import ours
from benchmarks.tasks.yahpo_lcbench import Array, names, references

TRAININGS = (2, 5, 10, 20, 30)
# The budgets at which the blind one is played.
COMPARED = (10, 20)
BLIND = "blind to prices"


def table(options: Options) -> list[Row]:
    """Seconds: the default, and what it needs for the regret that it has when it is blind to prices."""
    tasks, trainings = (names()[::9], TRAININGS[1:3]) if options.quick else (names(), TRAININGS)
    compared = [n for n in COMPARED if n in trainings]
    seeing = _regrets("auto", tasks, trainings, options.seeds)
    blind = _regrets(BLIND, tasks, compared, options.seeds)
    rows = []
    for b, n in enumerate(compared):
        same = seeing[:, trainings.index(n)]
        rows.append(row(f"auto, {n} trainings: regret", same.tolist()))
        rows.append(row(f"{BLIND}, {n} trainings: regret", blind[:, b].tolist()))
        rows.append(row(f"auto - {BLIND}, {n} trainings", (same - blind[:, b]).tolist()))
        rows.append(share_of_seconds(f"share of seconds, {n} trainings", trainings, n, seeing, blind[:, b]))
    return rows


def _regrets(method: str, tasks: Sequence[str], trainings: Sequence[int], seeds: int) -> Array:
    """Mean regrets over the tasks, of the shape (seeds, budgets)."""
    found = [[_of(method, task, seed, trainings) for seed in range(seeds)] for task in tasks]
    return np.asarray(np.mean(found, axis=0))


def _of(method: str, task: str, seed: int, trainings: Sequence[int]) -> list[float]:
    return [references()[task].regret(error) for error in ours.errors(method, task, seed, "seconds", trainings)]


def share_of_seconds(name: str, trainings: Sequence[int], budget: int, seeing: Array, blind: Array) -> Row:
    """The share of a budget that suffices for the regret of the blind one; the error is a jackknife over seeds.

    ``seeing`` has the shape (seeds, budgets), ``blind`` is of this budget alone, (seeds,).
    """

    def share(kept: Array) -> float:
        return seconds_for(float(blind[kept].mean()), trainings, seeing[kept].mean(axis=0)) / budget

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
