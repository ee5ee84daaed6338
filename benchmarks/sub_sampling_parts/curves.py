"""Recorded learning curves: who is nearest to the best after 10, 30 and 100 full trainings.

The tables hold one run a configuration, so a fresh replicate would pay twice for the same curve: the
rules of BOSS carry trials on and compare them on the same rung. BOSS with the halving rule is BOHB.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from common import Options, Row, row
from numpy.typing import NDArray
from scipy.stats import rankdata

import shoestring as ss
from shoestring.core.decisions import Method
from shoestring.core.events import Closed, Event, Reported
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named
from shoestring.problems import CurveTable

ROOT = Path(__file__).parents[2]
FAMILIES = ("lcbench", "taskset_imdb", "opda_curves", "klein_convnet_cifar10", "naap440")
TOTALS = (10, 30, 100)

BOHB_ROW = "BOHB (BOSS, sh)"
METHODS: dict[str, Method] = {
    "random": named("random"),
    "SH": named("sh"),
    "Hyperband": named("hyperband"),
    "ASHA": named("asha"),
    "ASHA with TPE": named("asha-tpe"),
    BOHB_ROW: BOHB(),
    "BOSS, ss": BOSS(rule="ss", replicate="resume", compare="rung"),
    "BOSS, mss": BOSS(rule="mss", replicate="resume", compare="rung"),
    "BOSS, mss, fresh": BOSS(rule="mss"),
    "parallel BOSS": ParallelBOSS(replicate="resume", compare="rung"),
}


def recorded(families: Sequence[str]) -> list[Path]:
    """The tables of these families of recorded curves, in order."""
    data = Path(os.environ.get("SHOESTRING_DATA", ROOT.parent / "shared" / "data"))
    found = [path for name in families for path in sorted((data / name).glob("*.npz")) if path.stem != "_configs"]
    if not found:
        raise SystemExit(f"there are no recorded curves in {data}; set SHOESTRING_DATA to where they are")
    return found


def tasks() -> list[Path]:
    return recorded(FAMILIES)


def played(table: CurveTable, method: Method, trainings: int, seed: int) -> list[Event]:
    log = MemoryLog()
    budget = ss.Budget(steps=trainings * table.max_resource)
    study = ss.Study(
        table.space, budget=budget, method=method, mode=table.mode, max_resource=table.max_resource, storage=log,
        seed=seed,
    )  # fmt: skip
    study.run(table, executor=Simulated(1))
    return log.read(0, 0)


def best_seen(events: Sequence[Event], limits: Sequence[int], mode: str) -> list[float]:
    """The best reading by the time that so many steps were spent; one study serves all totals."""
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


def regrets(job: tuple[Path, int]) -> list[list[float]]:
    """Normalised regret of every method at every total, on one task with one seed."""
    path, seed = job
    table = CurveTable.load(path)
    limits = [total * table.max_resource for total in TOTALS]
    runs = (played(table, method, TOTALS[-1], seed) for method in METHODS.values())
    return [[table.normalised_regret(seen) for seen in best_seen(events, limits, table.mode)] for events in runs]


def measured(paths: Sequence[Path], seeds: int) -> NDArray[np.float64]:
    """Shape (tasks, seeds, methods, totals); two processes."""
    jobs = [(path, seed) for path in paths for seed in range(seeds)]
    with Pool(2) as pool:
        found = pool.map(regrets, jobs, chunksize=1)
    return np.array(found).reshape(len(paths), seeds, len(METHODS), len(TOTALS))


def check_one_run_serves_all(path: Path, seed: int = 0) -> None:
    """The methods do not plan with the budget, so the best after 10 trainings is that of a study of 10."""
    table = CurveTable.load(path)
    limits = [TOTALS[0] * table.max_resource]
    for name, method in METHODS.items():
        short, long = (best_seen(played(table, method, n, seed), limits, table.mode) for n in TOTALS[:2])
        assert short == long, f"{name}: {short} in a study of {TOTALS[0]}, {long} on the way to {TOTALS[1]}"


def table(options: Options) -> list[Row]:
    """Recorded curves: mean normalised regret and mean rank; errors are over tasks, as the tasks are what differs."""
    paths = tasks()[::17] if options.quick else tasks()
    check_one_run_serves_all(paths[0])
    found = measured(paths, options.seeds or (1 if options.quick else 20))
    return [*_overall(found), *_against_bohb(found), *_by_family(found, paths)]


def _overall(found: NDArray[np.float64]) -> list[Row]:
    rows = []
    for t, total in enumerate(TOTALS):
        ranks = np.apply_along_axis(rankdata, 2, found[..., t])
        for m, name in enumerate(METHODS):
            rows.append(task_row(f"{name}, {total} trainings: regret", found[:, :, m, t]))
            rows.append(task_row(f"{name}, {total} trainings: rank", ranks[:, :, m]))
    return rows


def _against_bohb(found: NDArray[np.float64]) -> list[Row]:
    reference = found[:, :, list(METHODS).index(BOHB_ROW)]
    return [
        task_row(f"{name} − BOHB, {total} trainings: regret", found[:, :, m, t] - reference[..., t])
        for t, total in enumerate(TOTALS)
        for m, name in enumerate(METHODS)
        if "BOSS" in name and name != BOHB_ROW
    ]


def _by_family(found: NDArray[np.float64], paths: Sequence[Path]) -> list[Row]:
    families = np.array([path.parent.name for path in paths])
    return [
        task_row(f"{family}: {name}, {total} trainings: regret", found[families == family][:, :, m, t])
        for family in dict.fromkeys(families)
        for t, total in enumerate(TOTALS)
        for m, name in enumerate(METHODS)
    ]


def task_row(name: str, values: NDArray[np.float64], at_most: float | None = None) -> Row:
    """``values`` has one row a task and one column a seed."""
    return replace(row(name, values.mean(axis=1).tolist(), at_most=at_most), n=values.size)


warnings.filterwarnings("ignore", message=".*replicate='resume'.*")
