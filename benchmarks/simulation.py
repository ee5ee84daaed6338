"""A thousand virtual workers run ASHA over 100,000 steps, with the laws checked at every event.

Each event is checked by the fold before it is appended. Afterwards the log is written as JSON, read
back and folded anew; at every prefix the budget law is checked twice, by the ledger and by a count of
its own here, and every grant is decided again.

    python benchmarks/simulation.py                        # all tables
    python benchmarks/simulation.py --table throughput --seeds 5
    python benchmarks/simulation.py --quick --json
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import shoestring as ss
from shoestring.core.events import Closed, Event, Granted, Reported, from_json, to_json
from shoestring.core.history import History
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.problems import Synthetic, WithCurves

# Steps differ in length and readings are noisy, so that workers fall out of step and ranks change.
PROBLEM = WithCurves(Synthetic("branin", noise=0.1, spread=0.5), max_resource=81)


@dataclass(frozen=True)
class Row:
    """One line of a table; ``error`` is the standard error over ``n`` seeds."""

    name: str
    paper: float | None
    measured: float
    error: float | None
    n: int


def row(name: str, values: Sequence[float]) -> Row:
    n = len(values)
    error = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    return Row(name, None, statistics.fmean(values), error, n)


@dataclass(frozen=True)
class Run:
    study: ss.Study
    events: list[Event]
    seconds: float


def simulated(workers: int, steps: int, seed: int, begun: Sequence[Event] = ()) -> Run:
    """A study from the start or from a cut log, and the CPU seconds that it took."""
    log = MemoryLog()
    if begun:
        log.create("study", begun[0])
        log.append(0, list(begun[1:]), 1)
    before = time.process_time()
    study = ss.tune(
        PROBLEM,
        PROBLEM.space,
        budget=ss.Budget(steps=steps),
        max_resource=PROBLEM.max_resource,
        method="asha",
        executor=Simulated(workers),
        storage=log,
        seed=seed,
    )
    return Run(study, log.read(0, 0), time.process_time() - before)


def through_json(events: Sequence[Event]) -> Iterator[Event]:
    for seq, event in enumerate(events):
        yield from_json(event.kind, event.at, to_json(event), seq)


def violations(events: Sequence[Event], budget: int) -> int:
    """Fold a log that went through JSON; how many prefixes break the budget law."""
    history, broken, spent = History(), 0, 0
    running: dict[int, tuple[int, int]] = {}
    committed = 0
    for event in through_json(events):
        history.apply(event)  # refuses what cannot follow
        match event:
            case Granted():
                running[event.trial] = event.start, event.until
                committed += event.until - event.start
            case Reported():
                at, until = running.pop(event.trial)
                spent += event.step - at
                committed -= event.step - at
                if event.step < until:
                    running[event.trial] = event.step, until
            case Closed():
                at, until = running.pop(event.trial)
                spent += event.steps
                committed -= until - at
        ledger = history.ledger
        agreed = (ledger.steps, ledger.committed_steps) == (spent, committed)
        broken += spent + committed > budget or ledger.broken() is not None or not agreed
    return broken


def throughput(seeds: int, quick: bool) -> list[Row]:
    """1,000 workers, 100,000 steps: CPU seconds, events a second, and what the laws' checks found."""
    workers, steps = 1000, 100_000
    measured: dict[str, list[float]] = {}
    for seed in range(seeds):
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
            "logs in which a grant is decided otherwise again": 0 if run.study.verify().ok else 1,
        }
        for name, value in values.items():
            measured.setdefault(name, []).append(value)
    return [row(name, values) for name, values in measured.items()]


def scaling(seeds: int, quick: bool) -> list[Row]:
    """Events a second over numbers of workers and steps: what an event costs should depend on neither."""
    base = 2_000 if quick else 20_000
    shapes = [(1, base), (10, base), (100, base), (1000, base), (1000, 5 * base), (10_000, 5 * base)]
    rows = []
    for workers, steps in shapes:
        runs = [simulated(workers, steps, seed) for seed in range(seeds)]
        speeds = [len(run.events) / run.seconds for run in runs]
        rows.append(row(f"{workers:,} workers, {steps:,} steps: events a second", speeds))
    return rows


def continuation(seeds: int, quick: bool) -> list[Row]:
    """Cut the log at many places and go on: how often another log followed."""
    workers, steps, cuts = (100, 2_000, 5) if quick else (1000, 10_000, 10)
    different = []
    for seed in range(seeds):
        whole = simulated(workers, steps, seed).events
        places = [1 + i * (len(whole) - 1) // cuts for i in range(cuts)]
        again = (simulated(workers, steps, seed, whole[:place]).events for place in places)
        different.append(float(sum(events != whole for events in again)))
    return [row(f"{workers:,} workers, {steps:,} steps, {cuts} cuts: logs that differ", different)]


TABLES: dict[str, Callable[[int, bool], list[Row]]] = {
    "throughput": throughput,
    "scaling": scaling,
    "continuation": continuation,
}


def printed(title: str, rows: Sequence[Row]) -> None:
    width = max(len(line.name) for line in rows)
    print(f"\n{title}")
    for line in rows:
        error = "" if line.error is None else f" ± {line.error:,.2f}"
        print(f"  {line.name:<{width}}  {line.measured:>12,.2f}{error}  (n={line.n})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", choices=sorted(TABLES), help="one table only")
    parser.add_argument("--seeds", type=int, help="how many seeds (3; with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="one seed, smaller side tables")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    seeds = options.seeds or (1 if options.quick else 3)
    found: list[dict[str, Any]] = []
    for name in [options.table] if options.table else TABLES:
        rows = TABLES[name](seeds, options.quick)
        found += [{"table": name, **asdict(line)} for line in rows]
        if not options.json:
            printed(f"{name}: {(TABLES[name].__doc__ or '').strip()}", rows)
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
