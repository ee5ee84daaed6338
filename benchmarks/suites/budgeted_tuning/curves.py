"""Recorded learning curves: regret after 2, 5, 10, 20 and 50 full trainings.

Methods that plan with the budget are run once for each budget; the others are run once and read at each budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.harness.recorded import (
    FAMILIES,
    UNTRAINED_FIRST,
    Array,
    Job,
    by_family,
    complete_seeds,
    measured,
    overall,
    tables,
)
from shoestring.core.decisions import Method
from shoestring.methods import named

TRAININGS = (2, 5, 10, 20, 50)


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
METHODS = UNAWARE | PLANNING
NAMES = list(METHODS)

# The methods with the freeze-thaw model cost most: fewer seeds up to 20 trainings, and only the first ones at 50.
COSTLY = {"FreezeThaw": 3, "BHPT, Q": 10, "BHPT, ε": 10, "BHPT, KGm": 10}
LARGE, COSTLY_SEEDS = 50, 1

# Limits for forecast by budget: mean regret, and the ratio of its mean to ASHA's.
REGRET_LIMITS = dict(zip(TRAININGS, (0.37, 0.18, 0.11, 0.045, 0.02), strict=True))
RATIO_LIMITS = dict(zip(TRAININGS, (None, 0.8, 0.7, 0.5, 0.5), strict=True))


def table(options: Options) -> list[Row]:
    """Recorded curves: mean normalised regret and mean rank; errors are over tasks, as the tasks are what differs."""
    paths, totals, seeds = tables(FAMILIES), TRAININGS, min(options.seeds, 10)
    if options.quick:
        paths, totals, seeds = paths[::13], TRAININGS[:3], 1
    return rows_of(measured(jobs(paths, seeds, totals), paths, NAMES, totals), paths, totals)


def jobs(paths: Sequence[Path], seeds: int, totals: tuple[int, ...] = TRAININGS) -> list[Job]:
    """Seed by seed, so that a benchmark that is stopped early holds whole seeds."""
    found = []
    for seed in range(seeds):
        for name in (name for name in NAMES if seed < COSTLY.get(name, seeds)):
            budgets = tuple(n for n in totals if n < LARGE or name not in COSTLY or seed < COSTLY_SEEDS)
            for path in paths:
                skip = int(path.parent.name in UNTRAINED_FIRST)
                for trainings in [(n,) for n in budgets] if name in PLANNING else [budgets]:
                    found.append(Job(path, seed, name, METHODS[name], trainings, skip))
    return found


def rows_of(found: Array, paths: Sequence[Path], totals: Sequence[int] = TRAININGS) -> list[Row]:
    """All rows that are shown, from regrets of the shape (tasks, seeds, methods, budgets)."""
    limits = {f"Forecast, {total} trainings: regret": limit for total, limit in REGRET_LIMITS.items()}
    return [
        *(replace(line, at_most=limits.get(line.name)) for line in overall(found, NAMES, totals)),
        *_against("ASHA", [name for name in NAMES if name != "ASHA"], found, totals),
        *_against("Hyperband", [*COSTLY, "Forecast"], found, totals),
        *overall(found[1::2], NAMES, totals, "held-out tasks: "),
        *by_family(found, paths, NAMES, totals),
    ]


def _against(reference: str, names: Iterable[str], found: Array, totals: Sequence[int]) -> list[Row]:
    """Paired by task and seed: the difference in regret, its t value, and the ratio of the means."""
    rows = []
    for t, total in enumerate(totals):
        for name in names:
            pair = complete_seeds(found[:, :, [NAMES.index(name), NAMES.index(reference)], t]).mean(axis=1)
            gap = pair[:, 0] - pair[:, 1]
            error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
            limited = name == "Forecast" and reference == "ASHA" and total > 2
            what, ratio = f"{reference}, {total} trainings", float(pair[:, 0].mean() / pair[:, 1].mean())
            t_value, limit = float(gap.mean()) / error, RATIO_LIMITS[total] if limited else None
            rows.append(Row(f"{name} − {what}: regret", float(gap.mean()), error, len(gap)))
            rows.append(Row(f"{name} − {what}: t", t_value, n=len(gap), at_most=-2.0 if limited else None))
            rows.append(Row(f"{name} / {what}: regret", ratio, n=len(gap), at_most=limit))
    return rows
