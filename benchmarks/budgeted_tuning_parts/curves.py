"""Recorded learning curves: what 2, 5, 10, 20 and 50 full trainings buy.

Rows of the table are the pool, one worker, a step is the unit, and continuing costs only the added steps. Methods
that plan with the budget are run once for each; the others once, and looked at as they pass each budget. With
SHOESTRING_RUNS=FILE every run is kept in that file as it ends, and a second call goes on from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from common import Options, Row
from numpy.typing import NDArray
from scipy.stats import rankdata
from sub_sampling_parts.curves import best_seen, played, recorded, task_row

from shoestring.core.decisions import Method
from shoestring.methods import named
from shoestring.problems import CurveTable

TRAININGS = (2, 5, 10, 20, 50)
FAMILIES = ("lcbench", "taskset_imdb", "opda_curves", "klein_convnet_cifar10", "naap440", "baker_nas_curves")

# The first column of these is the loss before any training: it ranks the rows no better than chance.
UNTRAINED_FIRST = ("lcbench", "taskset_imdb")

UNAWARE: dict[str, Method] = {
    "random": named("random"),
    "GP-EI": named("gp-ei"),
    "Hyperband": named("hyperband"),
    "ASHA": named("asha"),
    "ASHA with TPE": named("asha-tpe"),
    "BOHB": named("bohb"),
    "FreezeThaw": named("freeze-thaw"),
}
PLANNING: dict[str, Method] = {
    "BHPT, Q": named("bhpt"),
    "BHPT, ε": named("bhpt-eps"),
    "BHPT, KGm": named("bhpt-kgm"),
    "Forecast": named("forecast"),
}
NAMES = [*UNAWARE, *PLANNING]

# Those on the freeze-thaw belief cost most: up to 20 trainings with so many seeds, and 50 with the first ones only.
COSTLY = {"FreezeThaw": 3, "BHPT, Q": 10, "BHPT, ε": 10, "BHPT, KGm": 10}
COSTLY_SEEDS = 1

# What the best of ours must reach, by budget: mean regret, and the ratio of its mean to ASHA's.
REGRET_BARS = (0.37, 0.18, 0.11, 0.045, 0.02)
RATIO_BARS = (None, 0.8, 0.7, 0.5, 0.5)


def tasks() -> list[Path]:
    return recorded(FAMILIES)


def loaded(path: Path) -> CurveTable:
    """A table without the reading of the untrained model, where the recording begins with it."""
    return CurveTable.load(path, skip=int(path.parent.name in UNTRAINED_FIRST))


@dataclass(frozen=True)
class Job:
    """A study of one method: its regret once it has spent each of some numbers of full trainings."""

    task: str
    seed: int
    method: str
    trainings: tuple[int, ...]

    def regrets(self, path: Path) -> list[float]:
        table = loaded(path)
        limits = [n * table.max_resource for n in self.trainings]
        method = PLANNING.get(self.method) or UNAWARE[self.method]
        events = played(table, method, self.trainings[-1], self.seed)
        return [table.normalised_regret(value) for value in best_seen(events, limits, table.mode)]


def jobs(paths: Sequence[Path], seeds: int) -> dict[Job, Path]:
    """Seed by seed, so that what is stopped early holds whole seeds."""
    found = {}
    for seed in range(seeds):
        for name in (name for name in NAMES if seed < COSTLY.get(name, seeds)):
            last = len(TRAININGS) - (name in COSTLY and seed >= COSTLY_SEEDS)
            budgets = TRAININGS[:last]
            for path in paths:
                for trainings in [(n,) for n in budgets] if name in PLANNING else [budgets]:
                    found[Job(task_name(path), seed, name, trainings)] = path
    return found


def task_name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _played(item: tuple[Job, Path]) -> tuple[Job, list[float]]:
    job, path = item
    return job, job.regrets(path)


def measured(paths: Sequence[Path], seeds: int) -> NDArray[np.float64]:
    """Shape (tasks, seeds, methods, budgets), NaN where there is no run; two processes."""
    wanted, kept = jobs(paths, seeds), os.environ.get("SHOESTRING_RUNS")
    found: dict[Job, list[float]] = {}
    if kept and Path(kept).exists():
        for line in Path(kept).read_text().splitlines():
            task, seed, name, trainings, regrets = json.loads(line)
            found[Job(task, seed, name, tuple(trainings))] = regrets
    with Pool(2) as pool:
        for job, regrets in pool.imap_unordered(_played, [item for item in wanted.items() if item[0] not in found]):
            found[job] = regrets
            if kept:
                with Path(kept).open("a") as file:
                    file.write(json.dumps([*vars(job).values(), regrets]) + "\n")
    result = np.full((len(paths), seeds, len(NAMES), len(TRAININGS)), np.nan)
    for job, path in wanted.items():
        places = [TRAININGS.index(n) for n in job.trainings]
        result[paths.index(path), job.seed, NAMES.index(job.method), places] = found[job]
    return result


def table(options: Options) -> list[Row]:
    """Recorded curves: mean normalised regret and mean rank; errors are over tasks, as the tasks are what differs."""
    paths = tasks()[::9] if options.quick else tasks()
    return rows_of(measured(paths, 1 if options.quick else min(options.seeds, 10)), paths)


def _run(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The seeds, on the second axis, that were run."""
    return values[:, ~np.isnan(values).any(axis=(0, *range(2, values.ndim)))]


def rows_of(found: NDArray[np.float64], paths: Sequence[Path]) -> list[Row]:
    """All rows that are shown, from regrets of the shape (tasks, seeds, methods, budgets)."""
    halves = np.arange(len(paths)) % 2
    return [
        *_overall("", found),
        *_against("ASHA", [*PLANNING, "FreezeThaw"], found),
        *_against("Hyperband", COSTLY, found),
        *_overall("odd tasks, which chose nothing: ", found[halves == 1]),
        *_by_family(found, paths),
    ]


def _overall(what: str, found: NDArray[np.float64]) -> list[Row]:
    rows = []
    for t, total in enumerate(TRAININGS):
        ranks = np.apply_along_axis(rankdata, 2, _run(found[..., t]))
        for m, name in enumerate(NAMES):
            bar = REGRET_BARS[t] if name == "Forecast" and not what else None
            rows.append(task_row(f"{what}{name}, {total} trainings: regret", _run(found[:, :, m, t]), bar))
            rows.append(task_row(f"{what}{name}, {total} trainings: rank", ranks[:, :, m]))
    return rows


def _against(reference: str, names: Iterable[str], found: NDArray[np.float64]) -> list[Row]:
    """Paired by task and seed: the difference in regret, its t value, and the ratio of the means."""
    rows = []
    for t, total in enumerate(TRAININGS):
        for name in names:
            pair = _run(found[:, :, [NAMES.index(name), NAMES.index(reference)], t]).mean(axis=1)
            gap = pair[:, 0] - pair[:, 1]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            ours, bar = name == "Forecast" and reference == "ASHA" and total > 2, RATIO_BARS[t]
            what = f"{reference}, {total} trainings"
            rows.append(Row(f"{name} − {what}: regret", float(gap.mean()), float(error), len(gap)))
            rows.append(Row(f"{name} − {what}: t", float(gap.mean() / error), n=len(gap), bar=-2.0 if ours else None))
            ratio = float(pair[:, 0].mean() / pair[:, 1].mean())
            rows.append(Row(f"{name} / {what}: regret", ratio, n=len(gap), bar=bar if ours else None))
    return rows


def _by_family(found: NDArray[np.float64], paths: Sequence[Path]) -> list[Row]:
    families = np.array([path.parent.name for path in paths])
    return [
        task_row(f"{family}: {name}, {total} trainings: regret", _run(found[families == family][:, :, m, t]))
        for family in dict.fromkeys(families)
        for t, total in enumerate(TRAININGS)
        for m, name in enumerate(NAMES)
    ]
