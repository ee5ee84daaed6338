"""Recorded learning curves: what 2, 5, 10, 20 and 50 full trainings buy.

Rows of the table are the pool, one worker, a step is the unit, and continuing costs only the added steps. Methods
that plan with the budget are run once for each; the others once, and looked at as they pass each budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from common import Options, Row
from numpy.typing import NDArray
from scipy.stats import rankdata
from sub_sampling_parts.curves import best_seen, played, recorded, task_row

from shoestring.method import Method
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
    "BHPT, Q": named("bhpt-q"),
    "BHPT, ε": named("bhpt-eps"),
    "BHPT, KGm": named("bhpt"),
    "Forecast": named("forecast"),
}
NAMES = [*UNAWARE, *PLANNING]
REFERENCE = "ASHA"

# What the best of ours must reach, by budget: mean regret, and the ratio of its mean to ASHA's.
REGRET_BARS = (0.37, 0.18, 0.11, 0.045, 0.02)
RATIO_BARS = (None, 0.8, 0.7, 0.5, 0.5)


def tasks() -> list[Path]:
    return recorded(FAMILIES)


def loaded(path: Path) -> CurveTable:
    """A table without the reading of the untrained model, where the recording begins with it."""
    return CurveTable.load(path, skip=int(path.parent.name in UNTRAINED_FIRST))


def regrets(path: Path, seed: int, method: Method, plans: bool) -> list[float]:
    """Normalised regret of one method at every budget, on one task with one seed."""
    table = loaded(path)
    found = []
    for runs in [(n,) for n in TRAININGS] if plans else [TRAININGS]:
        limits = [n * table.max_resource for n in runs]
        seen = best_seen(played(table, method, runs[-1], seed), limits, table.mode)
        found += [table.normalised_regret(value) for value in seen]
    return found


def _job(job: tuple[Path, int, str]) -> list[float]:
    path, seed, name = job
    return regrets(path, seed, PLANNING.get(name) or UNAWARE[name], name in PLANNING)


def measured(paths: Sequence[Path], seeds: int) -> NDArray[np.float64]:
    """Shape (tasks, seeds, methods, budgets); two processes."""
    jobs = [(path, seed, name) for path in paths for seed in range(seeds) for name in NAMES]
    with Pool(2) as pool:
        found = pool.map(_job, jobs, chunksize=1)
    return np.array(found).reshape(len(paths), seeds, len(NAMES), len(TRAININGS))


def table(options: Options) -> list[Row]:
    """Recorded curves: mean normalised regret and mean rank; errors are over tasks, as the tasks are what differs."""
    paths = tasks()[::9] if options.quick else tasks()
    return rows_of(measured(paths, 1 if options.quick else min(options.seeds, 10)), paths)


def rows_of(found: NDArray[np.float64], paths: Sequence[Path]) -> list[Row]:
    """All rows that are shown, from regrets of the shape (tasks, seeds, methods, budgets)."""
    halves = np.arange(len(paths)) % 2
    return [
        *_overall("", found),
        *_against_asha(found),
        *_overall("odd tasks, which chose nothing: ", found[halves == 1]),
        *_by_family(found, paths),
    ]


def _overall(what: str, found: NDArray[np.float64]) -> list[Row]:
    rows = []
    for t, total in enumerate(TRAININGS):
        ranks = np.apply_along_axis(rankdata, 2, found[..., t])
        for m, name in enumerate(NAMES):
            bar = REGRET_BARS[t] if name == "Forecast" and not what else None
            rows.append(task_row(f"{what}{name}, {total} trainings: regret", found[:, :, m, t], bar))
            rows.append(task_row(f"{what}{name}, {total} trainings: rank", ranks[:, :, m]))
    return rows


def _against_asha(found: NDArray[np.float64]) -> list[Row]:
    """Paired by task: the difference in regret, its t value, and the ratio of the means."""
    asha, rows = found[:, :, NAMES.index(REFERENCE)].mean(axis=1), []
    for t, total in enumerate(TRAININGS):
        for name in (*PLANNING, "FreezeThaw"):
            own = found[:, :, NAMES.index(name), t].mean(axis=1)
            gap = own - asha[:, t]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            ours, bar = name == "Forecast" and total > 2, RATIO_BARS[t]
            rows.append(Row(f"{name} − ASHA, {total} trainings: regret", float(gap.mean()), float(error), len(gap)))
            t_value = float(gap.mean() / error)
            rows.append(Row(f"{name} − ASHA, {total} trainings: t", t_value, n=len(gap), bar=-2.0 if ours else None))
            ratio = float(own.mean() / asha[:, t].mean())
            rows.append(Row(f"{name} / ASHA, {total} trainings: regret", ratio, n=len(gap), bar=bar if ours else None))
    return rows


def _by_family(found: NDArray[np.float64], paths: Sequence[Path]) -> list[Row]:
    families = np.array([path.parent.name for path in paths])
    return [
        task_row(f"{family}: {name}, {total} trainings: regret", found[families == family][:, :, m, t])
        for family in dict.fromkeys(families)
        for t, total in enumerate(TRAININGS)
        for m, name in enumerate(NAMES)
    ]
