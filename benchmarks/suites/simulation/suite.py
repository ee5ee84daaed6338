"""A thousand virtual workers run ASHA over 100,000 steps, with the laws checked at every event.

Each event is checked by the fold before it is appended. Afterwards the log is written as JSON, read
back and folded again; at every prefix the budget law is checked twice, by the ledger and by a count of
its own here, and every grant is replayed.

    python benchmarks/simulation.py                        # all tables
    python benchmarks/simulation.py --table throughput --seeds 5
    python benchmarks/simulation.py --quick --json
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import shoestring as ss
from benchmarks.harness.budget_law import violations
from benchmarks.harness.common import Options, main
from benchmarks.harness.measurements import Row, row
from shoestring.core.events import Event
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.problems import Synthetic, WithCurves

# Steps differ in length and readings are noisy, so that workers fall out of step and ranks change.
PROBLEM = WithCurves(Synthetic("branin", noise=0.1, spread=0.5), max_resource=81)


@dataclass(frozen=True)
class Run:
    study: ss.Study
    events: list[Event]
    seconds: float


def simulated(workers: int, steps: int, seed: int, start: Sequence[Event] = (), method: str = "asha") -> Run:
    """A study from the start or from a cut log, and the CPU seconds that it took."""
    log = MemoryLog()
    if start:
        log.create("study", start[0])
        log.append(0, list(start[1:]), 1)
    before = time.process_time()
    study = ss.tune(
        PROBLEM, PROBLEM.space, budget=ss.Budget(steps=steps), max_resource=PROBLEM.max_resource, method=method,
        executor=Simulated(workers), storage=log, seed=seed,
    )  # fmt: skip
    return Run(study, log.read(0, 0), time.process_time() - before)


def throughput(options: Options) -> list[Row]:
    """1,000 workers, 100,000 steps: CPU seconds, events a second, and what the laws' checks found."""
    workers, steps = 1000, 100_000
    measured: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        run = simulated(workers, steps, seed)
        before = time.process_time()
        broken = violations(run.events, steps)
        folded = time.process_time() - before
        values = {
            "simulation, CPU seconds": run.seconds,
            "simulation, events a second": len(run.events) / run.seconds,
            "events": len(run.events),
            "steps": run.study.spent["steps"],
            "trials": len(run.study.trials),
            "virtual seconds": run.study.spent["seconds"],
            "JSON, fold and budget law at every prefix, CPU seconds": folded,
            "prefixes that break the budget law": broken,
            "logs that verify refuses": 0 if run.study.verify().ok else 1,
        }
        for name, value in values.items():
            measured.setdefault(name, []).append(value)
    return [row(name, values) for name, values in measured.items()]


def scaling(options: Options) -> list[Row]:
    """Events a second over numbers of workers and steps: what an event costs should depend on neither."""
    base = 2_000 if options.quick else 20_000
    shapes = [(1, base), (10, base), (100, base), (1000, base), (1000, 5 * base), (10_000, 5 * base)]
    rows = []
    for workers, steps in shapes:
        runs = [simulated(workers, steps, seed) for seed in range(options.seeds)]
        speeds = [len(run.events) / run.seconds for run in runs]
        rows.append(row(f"{workers:,} workers, {steps:,} steps: events a second", speeds))
    return rows


def continuation(options: Options) -> list[Row]:
    """Cut the log at many places and go on: how often another log followed."""
    workers, steps, cuts = (100, 2_000, 5) if options.quick else (1000, 10_000, 10)
    different = []
    for seed in range(options.seeds):
        whole = simulated(workers, steps, seed).events
        places = [1 + i * (len(whole) - 1) // cuts for i in range(cuts)]
        again = (simulated(workers, steps, seed, whole[:place]).events for place in places)
        different.append(float(sum(events != whole for events in again)))
    return [row(f"{workers:,} workers, {steps:,} steps, {cuts} cuts: logs that differ", different)]


def schedulers(options: Options) -> list[Row]:
    """CPU seconds of hyperband on 1,000 workers, and of ASHA in the same run."""
    steps = 10_000 if options.quick else 100_000
    pairs = [
        (simulated(1000, steps, seed, method="hyperband").seconds, simulated(1000, steps, seed).seconds)
        for seed in range(options.seeds)
    ]
    return [
        row(f"{steps:,} steps: hyperband", [ours for ours, _ in pairs]),
        row(f"{steps:,} steps: asha", [asha for _, asha in pairs]),
        row(f"{steps:,} steps: ratio", [ours / asha for ours, asha in pairs], at_most=2.0),
    ]


TABLES = {"throughput": throughput, "scaling": scaling, "schedulers": schedulers, "continuation": continuation}


def run() -> None:
    main(__doc__, TABLES, seeds=3, quick_seeds=1)
