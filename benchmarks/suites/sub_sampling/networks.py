"""Table 3 in kind: architecture search with BOSS, BOHB and others, on recorded trainings instead of DARTS cells.

NAS-Bench-201 holds the end of up to three trainings of each of 15,625 cells, so a step is one training: a reading is
the mean of this many of them, drawn by the trial's seed. The other three tables hold one learning curve of each
network; there BOSS resumes trials and compares them on the same rung.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.recorded import DATA, best_seen, played, tables
from benchmarks.suites.sub_sampling.hartmann import chosen
from shoestring.core.decisions import Method
from shoestring.core.randomness import generator
from shoestring.executors import Simulated, Trial
from shoestring.methods import BOSS, named
from shoestring.problems import CurveTable, GridTable

TRAININGS = 3  # of one cell, at most
CELLS = 60  # the budget in cells that are trained three times
CURVES = ("metaqnn_cifar10", "deep_resnets_cifar10", "naap440")
FULL_TRAININGS = 20


@dataclass(frozen=True)
class Cells:
    """NAS-Bench-201 as a problem whose steps are trainings from new initialisations; the value is an error in %."""

    data: str

    @property
    def table(self) -> GridTable:
        return _cells(self.data)

    def reading(self, config: dict[str, Any], step: int, seed: int) -> float:
        ends = 100 - _accuracies(self.data)[self.table.index(config)]
        ends = ends[~np.isnan(ends)]
        return float(generator(seed, 0, "training").permutation(ends)[:step].mean())

    def __call__(self, trial: Trial) -> Iterator[float]:
        for step in range(trial.start + 1, TRAININGS + 1):
            yield self.reading(trial.config, step, trial.seed)


@cache
def _cells(data: str) -> GridTable:
    return GridTable.load(DATA / "nasbench201" / f"{data}.npz")


@cache
def _accuracies(data: str) -> Any:
    with np.load(DATA / "nasbench201" / f"{data}.npz") as held:
        return held["val_acc"]


METHODS: dict[str, Method] = {
    "random": named("random"),
    "SH": named("sh"),
    "Hyperband": named("hyperband"),
    "TPE": named("tpe"),
    "BOHB": named("bohb"),
    "BOSS (ss)": named("boss"),
    "BOSS (mss)": named("boss-mss"),
}
ON_CURVES = METHODS | {
    "BOSS (ss)": BOSS(replicate="resume", compare="rung"),
    "BOSS (mss)": BOSS(rule="mss", replicate="resume", compare="rung"),
}


def error_of_cell(data: str, name: str, seed: int) -> float:
    """Return how much higher the mean error of the chosen cell is than that of the best one, in %."""
    problem = Cells(data)
    study = ss.Study(
        problem.table.space, budget=ss.Budget(steps=CELLS * TRAININGS), method=METHODS[name], max_resource=TRAININGS,
        seed=seed,
    )  # fmt: skip
    study.run(problem, executor=Simulated(1))
    ends = np.nanmean(_accuracies(data), axis=-1)
    return float(ends.max() - ends[problem.table.index(chosen(study.history))])


def regret_on_curves(table: str, name: str, seed: int) -> float:
    family = "naap440" if table == "naap440" else "baker_nas_curves"
    curves = CurveTable.load(next(path for path in tables([family]) if path.stem == table))
    events = played(curves, ON_CURVES[name], FULL_TRAININGS, seed)
    return curves.normalised_regret(best_seen(events, [FULL_TRAININGS * curves.max_resource], curves.mode)[0])


def table(options: Options) -> list[Row]:
    """Architecture search: error above the best cell, and regret on recorded networks; t of paired differences."""
    warnings.filterwarnings("ignore", message=".*replicate='resume'.*")
    seeds = range(options.seeds or (1 if options.quick else 20))
    found: dict[tuple[str, str], list[float]] = {}
    for name in METHODS:
        for data in ("cifar10", "cifar100"):
            identity = [key(f"nasbench201/{data}", seed, METHODS[name], cells=CELLS) for seed in seeds]
            found[f"NAS-Bench-201, {data}", name] = [
                runs().get(what, lambda: error_of_cell(data, name, seed))  # noqa: B023
                for what, seed in zip(identity, seeds, strict=True)
            ]
        for data in CURVES:
            identity = [key(f"networks/{data}", seed, ON_CURVES[name], trainings=FULL_TRAININGS) for seed in seeds]
            found[data, name] = [
                runs().get(what, lambda: regret_on_curves(data, name, seed))  # noqa: B023
                for what, seed in zip(identity, seeds, strict=True)
            ]
    rows = [row(f"{task}: {name}", values) for (task, name), values in found.items()]
    for task in dict.fromkeys(task for task, _ in found):
        for name in ("BOSS (ss)", "BOSS (mss)", "random"):
            gap = np.subtract(found[task, name], found[task, "BOHB"])
            rows.append(row(f"{task}: {name} − BOHB", gap.tolist()))
            if gap.any() and len(gap) > 1:
                t = float(ttest_rel(found[task, name], found[task, "BOHB"]).statistic)
                rows.append(Row(f"{task}: {name} − BOHB, t", t, n=len(gap)))
    return rows
