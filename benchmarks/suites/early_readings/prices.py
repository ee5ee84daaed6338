"""The default against itself blind to what steps cost, with budgets in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.kept import Missing
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
    seeing = _regrets("auto", tasks, trainings, options.seeds)
    blind = _regrets(BLIND, tasks, [n for n in COMPARED if n in trainings], options.seeds)
    rows = []
    for n in sorted(seeing.keys() & blind.keys()):
        rows.append(row(f"auto, {n} trainings: regret", seeing[n].tolist()))
        rows.append(row(f"{BLIND}, {n} trainings: regret", blind[n].tolist()))
        rows.append(row(f"auto - {BLIND}, {n} trainings", (seeing[n] - blind[n]).tolist()))
        if len(seeing) > 1:
            by_budget = np.stack(list(seeing.values()), axis=1)
            rows.append(share_of_seconds(f"share of seconds, {n} trainings", list(seeing), n, by_budget, blind[n]))
    return rows


def _regrets(method: str, tasks: Sequence[str], trainings: Sequence[int], seeds: int) -> dict[int, Array]:
    """Mean regrets over the tasks by seed, (seeds,), for each budget of which no run is missing."""
    found = {}
    for n in trainings:
        with suppress(Missing):
            runs = [[_regret(method, task, seed, n) for seed in range(seeds)] for task in tasks]
            found[n] = np.asarray(np.mean(runs, axis=0))
    return found


def _regret(method: str, task: str, seed: int, trainings: int) -> float:
    (error,) = ours.errors(method, task, seed, "seconds", [trainings])
    return references()[task].regret(error)


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
