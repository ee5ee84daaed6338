"""The paper's setting of BHPT, with Q as printed, on all recorded tables: Figure 2 beyond the pools of its sizes.

``bhpt-paper`` has independent configurations and learns its parameters by slice sampling, ``bhpt`` the shipped prior.
Methods that plan with the budget are run once for each budget.
"""

from __future__ import annotations

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.harness.recorded import FAMILIES, UNTRAINED_FIRST, Job, by_family, measured, overall, tables, task_row
from shoestring.core.decisions import Method
from shoestring.methods import named

TRAININGS = (2, 5, 10)
OWN = "bhpt-paper"
PLANNING: dict[str, Method] = {name: named(name) for name in (OWN, "bhpt")}
UNAWARE: dict[str, Method] = {name: named(name) for name in ("hyperband", "gp-ei", "random")}
NAMES = [*PLANNING, *UNAWARE]


def table(options: Options) -> list[Row]:
    """All recorded tables in the paper's setting: normalised regret; errors are over tables"""
    paths, totals, seeds = tables(FAMILIES), TRAININGS, min(options.seeds, 10)
    if options.quick:
        paths, totals, seeds = paths[::13], TRAININGS[:1], 1
    jobs = []
    for seed in range(seeds):  # the outer loop, so that a run that is cut short has whole seeds
        for path in paths:
            skip = int(path.parent.name in UNTRAINED_FIRST)
            jobs += [Job(path, seed, name, PLANNING[name], (total,), skip) for name in PLANNING for total in totals]
            jobs += [Job(path, seed, name, UNAWARE[name], totals, skip) for name in UNAWARE]
    found = measured(jobs, paths, NAMES, totals)
    differences = [
        task_row(f"{name} − {OWN}, {total} trainings: regret", found[:, :, m, t] - found[:, :, 0, t])
        for t, total in enumerate(totals)
        for m, name in enumerate(NAMES)
        if name != OWN
    ]
    return [*overall(found, NAMES, totals), *differences, *by_family(found, paths, NAMES, totals)]
