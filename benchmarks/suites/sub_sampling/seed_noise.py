"""BOSS where the noise is real: small networks that are trained from a new initialisation for every replicate.

The trainings are those of ``tasks/trainings.py``: a network with dropout on digits with wrong labels, and
a recurrent network on a chaotic series. The initialisation, the order of the rows and the dropout all follow from a
trial's seed, so a fresh replicate has its own luck and a resumed trial keeps the luck that it had. All methods may
train for the same number of steps. What counts is the mean of new trainings of the chosen configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.sub_sampling.hartmann import chosen
from benchmarks.tasks import trainings_arrays as arrays
from benchmarks.tasks.trainings import Training, objective
from shoestring.executors import Simulated
from shoestring.methods import named

TOP = 27
TRAININGS = 40  # the budget, in trainings of 27 steps
NEW = 10  # trainings of the chosen configuration, with seeds that no search has seen
FIRST_NEW_SEED = 10**6
METHODS = ("random", "bohb", "boss", "boss-mss")
# Space, training, and what a diverged training counts as: guessing a digit, and forecasting the mean.
TASKS: dict[str, tuple[Any, Training, float]] = {
    "network with dropout": (arrays.DROPOUT, arrays.network_with_dropout, 0.9),
    "recurrent network": (arrays.recurrent_space(), arrays.recurrent_network, 1.0),
}


def _new_trainings(task: str, config: Mapping[str, Any], seed: int) -> list[tuple[float, float]]:
    """Validation and test loss after the last step of each new training."""
    _, training, diverged = TASKS[task]
    found = []
    for number in range(NEW):
        readings = training(config, FIRST_NEW_SEED + NEW * seed + number)
        with np.errstate(all="ignore"):
            *_, last = (next(readings) for _ in range(TOP))
        found.append(tuple(v if np.isfinite(v) else diverged for v in (last.value, last.metrics["test"])))
    return found


def _played(task: str, name: str, seed: int) -> list[float]:
    """Mean validation and test loss of the chosen configuration, the spread of its validation loss, configurations."""
    space, training, _ = TASKS[task]
    budget = ss.Budget(steps=TRAININGS * TOP)
    study = ss.Study(space, budget=budget, method=named(name), max_resource=TOP, seed=seed)
    study.run(objective(training), executor=Simulated(1), progress=False)
    losses = np.array(_new_trainings(task, chosen(study.history), seed))
    return [*losses.mean(axis=0).tolist(), float(losses[:, 0].std(ddof=1)), float(len(study.history.arms))]


def table(options: Options) -> list[Row]:
    """Real seed noise: loss of new trainings of the chosen configuration; differences are paired by seed."""
    seeds = range(options.seeds or (2 if options.quick else 20))
    found: dict[tuple[str, str], list[list[float]]] = {(task, name): [] for task in TASKS for name in METHODS}
    for seed in seeds:
        for (task, name), values in found.items():
            identity = key(f"seed noise/{task}", seed, named(name), trainings=TRAININGS, top=TOP, new=NEW)
            values.append(runs().get(identity, lambda: _played(task, name, seed)))  # noqa: B023
    rows = []
    for (task, name), values in found.items():
        for quantity, column in zip(
            ("validation", "test", "spread", "configurations"), zip(*values, strict=True), strict=True
        ):
            rows.append(row(f"{task}, {name}: {quantity}", list(column)))
    for task in TASKS:
        reference = np.array(found[task, "bohb"])[:, 0]
        for name in METHODS:
            gap = np.array(found[task, name])[:, 0] - reference
            if name != "bohb":
                rows.append(row(f"{task}, {name} − bohb: validation", gap.tolist()))
            if gap.any() and len(gap) > 1:
                t = float(ttest_rel(gap, np.zeros_like(gap)).statistic)
                rows.append(Row(f"{task}, {name} − bohb: t", t, n=len(gap)))
    return rows
