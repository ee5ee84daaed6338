"""Recorded learning curves: the results of methods on them within some numbers of full trainings.

The rows of a table are the configurations, one worker runs on the simulated executor, and continuing a trial costs
only the added steps. The data are looked for in the folder SHOESTRING_DATA.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import shoestring as ss
from benchmarks.harness.common import Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from shoestring.core.decisions import Method
from shoestring.core.events import Closed, Event, Reported
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.problems import CurveTable

DATA = Path(os.environ.get("SHOESTRING_DATA", Path(__file__).parents[3] / "shared" / "data"))
Array = NDArray[np.float64]

FAMILIES = ("lcbench", "taskset_imdb", "opda_curves", "klein_convnet_cifar10", "naap440", "baker_nas_curves")
# The first column of these is the loss before any training: it ranks the rows no better than chance.
UNTRAINED_FIRST = ("lcbench", "taskset_imdb")


def tables(families: Sequence[str]) -> list[Path]:
    """The tables of these families of recorded curves, in order."""
    found = [path for name in families for path in sorted((DATA / name).glob("*.npz")) if path.stem != "_configs"]
    if not found:
        raise Unavailable(f"there are no recorded curves in {DATA}; set SHOESTRING_DATA to where they are")
    return found


@dataclass(frozen=True)
class Job:
    """A study of one method on one table: its regret once it has spent each of some numbers of full trainings.

    The first ``skip`` readings of a recording are left out.
    """

    path: Path
    seed: int
    name: str
    method: Method
    trainings: tuple[int, ...]
    skip: int = 0

    @cached_property
    def key(self) -> str:
        task = f"{self.path.parent.name}/{self.path.stem}"
        return key(task, self.seed, self.method, trainings=self.trainings, skip=self.skip)

    def regrets(self) -> list[float]:
        table = CurveTable.load(self.path, skip=self.skip)
        limits = [n * table.max_resource for n in self.trainings]
        events = played(table, self.method, self.trainings[-1], self.seed)
        return [table.normalised_regret(value) for value in best_seen(events, limits, table.mode)]


def measured(jobs: Sequence[Job], paths: Sequence[Path], names: Sequence[str], totals: Sequence[int]) -> Array:
    """Regrets of the shape (tables, seeds, methods, totals), NaN where there is no run."""
    found = runs().all(((job.key, job) for job in jobs), Job.regrets)
    result = np.full((len(paths), 1 + max(job.seed for job in jobs), len(names), len(totals)), np.nan)
    for job in jobs:
        places = [totals.index(n) for n in job.trainings]
        result[paths.index(job.path), job.seed, names.index(job.name), places] = found[job.key]
    return result


def played(table: CurveTable, method: Method, trainings: int, seed: int) -> list[Event]:
    """The log of a study with this many full trainings."""
    log = MemoryLog()
    budget = ss.Budget(steps=trainings * table.max_resource)
    study = ss.Study(
        table.space, budget=budget, method=method, mode=table.mode, max_resource=table.max_resource, storage=log,
        seed=seed,
    )  # fmt: skip
    study.run(table, executor=Simulated(1))
    return log.read(0, 0)


def best_seen(events: Sequence[Event], limits: Sequence[int], mode: str) -> list[float]:
    """The best reading by the time that each number of steps was spent."""
    best, spent, steps = np.inf, 0, dict[int, int]()
    found = []
    sign = 1.0 if mode == "min" else -1.0
    waiting = list(limits)
    for event in events:
        if isinstance(event, Closed):
            spent += event.steps
        elif isinstance(event, Reported):
            spent += event.step - steps.get(event.trial, 0)
            steps[event.trial] = event.step
        while waiting and spent > waiting[0]:
            found.append(sign * best)
            waiting.pop(0)
        if isinstance(event, Reported):
            best = min(best, sign * event.value)
    return found + [sign * best] * len(waiting)


def complete_seeds(values: Array) -> Array:
    """The seeds, on the second axis, that were run for everything else."""
    return values[:, ~np.isnan(values).any(axis=(0, *range(2, values.ndim)))]


def task_row(name: str, values: Array, at_most: float | None = None) -> Row:
    """``values`` has one row a table and one column a seed; the error is over tables, as these are what differs."""
    return replace(row(name, values.mean(axis=1).tolist(), at_most=at_most), n=values.size)


def overall(found: Array, names: Sequence[str], totals: Sequence[int], prefix: str = "") -> list[Row]:
    """Mean regret and mean rank of each method at each total."""
    rows = []
    for t, total in enumerate(totals):
        ranks = np.apply_along_axis(rankdata, 2, complete_seeds(found[..., t]))
        for m, name in enumerate(names):
            rows.append(task_row(f"{prefix}{name}, {total} trainings: regret", complete_seeds(found[:, :, m, t])))
            rows.append(task_row(f"{prefix}{name}, {total} trainings: rank", ranks[:, :, m]))
    return rows


def by_family(found: Array, paths: Sequence[Path], names: Sequence[str], totals: Sequence[int]) -> list[Row]:
    """Mean regret by family of tables."""
    families = np.array([path.parent.name for path in paths])
    return [
        task_row(f"{family}: {name}, {total} trainings: regret", complete_seeds(found[families == family][:, :, m, t]))
        for family in dict.fromkeys(families)
        for t, total in enumerate(totals)
        for m, name in enumerate(names)
    ]
