"""The paper's setting of BHPT, with Q as printed, on all recorded tables: Figure 2 beyond the pools of its sizes.

``bhpt-paper`` has independent configurations and learns its parameters by slice sampling, ``bhpt`` the shipped prior.
Methods that plan with the budget are run once for each budget.
"""

from __future__ import annotations

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.harness.recorded import FAMILIES, UNTRAINED_FIRST, Job, by_family, measured, overall, tables, task_row
from shoestring.core.decisions import Method
from shoestring.methods import BHPT, named

TRAININGS = (2, 5, 10)
OWN = "bhpt-paper"
UNAWARE: dict[str, Method] = {name: named(name) for name in ("hyperband", "gp-ei", "random")}
PLANNING: dict[str, Method] = {
    "bhpt": named("bhpt"),
    OWN: named(OWN),
    f"{OWN}, ε": BHPT.paper(epsilon=0.5),
}
METHODS = UNAWARE | PLANNING
NAMES = list(METHODS)


def table(options: Options) -> list[Row]:
    """All recorded tables in the paper's setting: normalised regret; errors are over tables"""
    paths, totals, seeds = tables(FAMILIES), TRAININGS, min(options.seeds, 10)
    if options.quick:
        paths, totals, seeds = paths[::13], TRAININGS[:1], 1
    jobs = []
    for seed in range(seeds):  # the outer loop, so that a run that is cut short has whole seeds
        for name, method in METHODS.items():
            for path in paths:
                skip = int(path.parent.name in UNTRAINED_FIRST)
                for trainings in [(total,) for total in totals] if name in PLANNING else [totals]:
                    jobs.append(Job(path, seed, name, method, trainings, skip))
    found = measured(jobs, paths, NAMES, totals)
    differences = [
        task_row(f"{name} − {OWN}, {total} trainings: regret", found[:, :, m, t] - found[:, :, NAMES.index(OWN), t])
        for t, total in enumerate(totals)
        for m, name in enumerate(NAMES)
        if name != OWN
    ]
    return [*overall(found, NAMES, totals), *differences, *by_family(found, paths, NAMES, totals)]
