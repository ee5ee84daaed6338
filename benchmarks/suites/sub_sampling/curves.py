"""Recorded learning curves: regret after 10, 30 and 100 full trainings.

The tables hold one run of each configuration, so a fresh replicate would pay twice for the same curve: the rules of
BOSS continue trials and compare them on the same rung. BOSS with the halving rule is BOHB.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.harness.recorded import Array, Job, best_seen, by_family, measured, overall, played, tables, task_row
from shoestring.core.decisions import Method
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named
from shoestring.problems import CurveTable

FAMILIES = ("lcbench", "taskset_imdb", "opda_curves", "klein_convnet_cifar10", "naap440")
TOTALS = (10, 30, 100)

METHODS: dict[str, Method] = {
    "random": named("random"),
    "SH": named("sh"),
    "Hyperband": named("hyperband"),
    "ASHA": named("asha"),
    "ASHA with TPE": named("asha-tpe"),
    "BOHB": BOHB(),
    "BOSS, ss": BOSS(rule="ss", replicate="resume", compare="rung"),
    "BOSS, mss": BOSS(rule="mss", replicate="resume", compare="rung"),
    "BOSS, mss, fresh": BOSS(rule="mss"),
    "parallel BOSS": ParallelBOSS(replicate="resume", compare="rung"),
}
NAMES = list(METHODS)


def check_one_run_serves_all(path: Path, seed: int = 0) -> None:
    """The methods do not plan with the budget, so the best after 10 trainings is that of a study of 10."""
    curves = CurveTable.load(path)
    limits = [TOTALS[0] * curves.max_resource]
    for name, method in METHODS.items():
        short, long = (best_seen(played(curves, method, n, seed), limits, curves.mode) for n in TOTALS[:2])
        assert short == long, f"{name}: {short} in a study of {TOTALS[0]}, {long} on the way to {TOTALS[1]}"


def table(options: Options) -> list[Row]:
    """Recorded curves: mean normalised regret and mean rank; errors are over tasks, as the tasks are what differs."""
    warnings.filterwarnings("ignore", message=".*replicate='resume'.*")
    paths = tables(FAMILIES)[:: 17 if options.quick else 1]
    check_one_run_serves_all(paths[0])
    seeds = range(options.seeds or (1 if options.quick else 20))
    jobs = [Job(path, seed, *item, TOTALS) for seed in seeds for item in METHODS.items() for path in paths]
    found = measured(jobs, paths, NAMES, TOTALS)
    return [*overall(found, NAMES, TOTALS), *_against_bohb(found), *by_family(found, paths, NAMES, TOTALS)]


CATCHING_UP = ("BOHB", "BOSS, ss", "BOSS, mss")


def catching_up(options: Options) -> list[Row]:
    """BOSS and BOHB alone on the recorded curves: the difference after 10, 30 and 100 full trainings."""
    warnings.filterwarnings("ignore", message=".*replicate='resume'.*")
    paths = tables(FAMILIES)[:: 17 if options.quick else 1]
    seeds = range(options.seeds or (1 if options.quick else 3))
    jobs = [Job(path, seed, name, METHODS[name], TOTALS) for seed in seeds for name in CATCHING_UP for path in paths]
    found = measured(jobs, paths, CATCHING_UP, TOTALS)
    return [*overall(found, CATCHING_UP, TOTALS), *_against_bohb(found, CATCHING_UP)]


def _against_bohb(found: Array, names: Sequence[str] = NAMES) -> list[Row]:
    reference = found[:, :, names.index("BOHB")]
    return [
        task_row(f"{name} − BOHB, {total} trainings: regret", found[:, :, m, t] - reference[..., t])
        for t, total in enumerate(TOTALS)
        for m, name in enumerate(names)
        if "BOSS" in name
    ]
