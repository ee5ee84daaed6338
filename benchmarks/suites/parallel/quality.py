"""The same budget spent by 1, 8 and 32 virtual workers on recorded curves: what is found, and what deciding costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row
from benchmarks.harness.recorded import Array, best_seen, tables, task_row
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.problems import CurveTable

METHODS = ("auto", "bhpt", "asha", "pboss")
WORKERS = (1, 8, 32)
TRAININGS = 10
# Six tables of the family in sorted order; rules are chosen on those in between.
JUDGING = slice(1, 13, 2)


@dataclass(frozen=True)
class Job:
    """A study of a method on the rows of a table, by this many virtual workers."""

    path: Path
    method: str
    workers: int
    seed: int

    @property
    def key(self) -> str:
        return key(f"lcbench/{self.path.stem}", self.seed, self.method, workers=self.workers, trainings=TRAININGS)

    def result(self) -> tuple[float, float, float]:
        """The regret of the best reading, CPU seconds, and virtual seconds of which a step takes one."""
        table, log = CurveTable.load(self.path), MemoryLog()
        steps = TRAININGS * table.max_resource
        before = time.process_time()
        study = ss.Study(
            table.space, budget=ss.Budget(steps=steps), method=self.method, mode=table.mode,
            max_resource=table.max_resource, storage=log, seed=self.seed,
        )  # fmt: skip
        study.run(table, executor=Simulated(self.workers), progress=False)
        cpu = time.process_time() - before
        seen = best_seen(log.read(0, 0), [steps], table.mode)[0]
        return table.normalised_regret(seen), cpu, study.spent["seconds"]


def quality(options: Options) -> list[Row]:
    """Regret and CPU seconds of a study of 10 full trainings by 1, 8 and 32 workers, on six tables of lcbench."""
    paths = tables(["lcbench"])
    chosen = paths[JUDGING][: 2 if options.quick else None]
    methods = METHODS[:1] if options.quick else METHODS
    jobs = [
        Job(path, method, workers, seed)
        for seed in range(options.seeds)
        for path in chosen
        for workers in WORKERS
        for method in methods
    ]
    found = runs().all(((job.key, job) for job in jobs), Job.result)
    shape = (options.seeds, len(chosen), len(WORKERS), len(methods), 3)
    values = np.array([found[job.key] for job in jobs]).reshape(shape).transpose(3, 2, 4, 1, 0)
    return [line for m, method in enumerate(methods) for line in _rows(method, values[m])]


def _rows(method: str, values: Array) -> list[Row]:
    """The rows of one method; values have the shape (workers, quantities, tables, seeds)."""
    rows = []
    for w, workers in enumerate(WORKERS):
        regret, cpu, seconds = values[w]
        name = f"{method}, {workers} worker{'s' if workers > 1 else ''}"
        rows += [task_row(f"{name}: regret", regret), task_row(f"{name}: CPU seconds", cpu)]
        rows.append(task_row(f"{name}: virtual seconds", seconds))
        if workers > 1:
            bound = {8: 0.02, 32: 0.03}[workers] if method == "auto" else None
            rows.append(task_row(f"{name}: regret less that of one", regret - values[0, 0], bound))
            ratio = np.array([[cpu.mean() / values[0, 1].mean()]])
            rows.append(task_row(f"{name}: CPU of that of one", ratio, 2.0 if method == "auto" else None))
    return rows
