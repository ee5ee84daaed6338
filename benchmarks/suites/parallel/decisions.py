"""The cost of a decision with many workers, and the laws where workers are lost and steps differ in length."""

from __future__ import annotations

import statistics
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shoestring as ss
from benchmarks.harness.budget_law import violations
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from shoestring.core.events import Closed
from shoestring.core.randomness import generator
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.methods import names
from shoestring.objectives.job import Job, Report
from shoestring.problems import Synthetic, WithCurves

PROBLEM = WithCurves(Synthetic("branin", noise=0.1, spread=0.5), max_resource=27)
WORKERS = (1, 10, 100, 1000)
# Decisions that are timed while all workers are busy, and the readings that the study has by then.
TIMED, READINGS = 40, 60


def decisions(options: Options) -> list[Row]:
    """CPU milliseconds of a decision while this many trials run, by method; growth is from 10 times fewer workers."""
    most = 100 if options.quick else WORKERS[-1]
    methods = ("auto", "asha") if options.quick else [name for name in names() if name != "grid"]
    rows = []
    for method in methods:
        known: dict[int, float] = {}
        for workers in (count for count in WORKERS if count <= most):
            times = [_kept_time(method, workers, seed) for seed in range(options.seeds)]
            rows.append(row(f"{method}, {workers:,} workers: CPU ms", [1000 * one for one in times]))
            known[workers] = statistics.median(times)
        growth = max(known[10 * workers] / known[workers] for workers in known if 10 * workers in known)
        rows.append(row(f"{method}: largest growth for ten times the workers", [growth], at_most=10.0))
    return rows


def _kept_time(method: str, workers: int, seed: int) -> float:
    name = key("cost of a decision", seed, method, workers=workers, readings=READINGS, timed=TIMED)
    return float(runs().get(name, lambda: time_of_a_decision(method, workers, seed)))


def time_of_a_decision(method: str, workers: int, seed: int) -> float:
    """CPU seconds of one of the decisions that follow a report, with all workers busy before and after.

    Every study has the same number of readings when its decisions are timed, so that only the workers differ.
    """
    top = None if method in _WITHOUT_STEPS else PROBLEM.max_resource
    budget = ss.Budget(steps=10**6) if top else ss.Budget(evaluations=10**6)
    study = ss.Study(PROBLEM.space, budget=budget, method=method, max_resource=top, seed=seed)
    running: deque[ss.Grant] = deque()
    spent, decided = 0.0, 0
    for told in range(READINGS + TIMED):
        before = time.process_time()
        asked = 0
        while len(running) < workers and (grant := study.ask()) is not None:
            running.append(grant)
            asked += 1
        if told >= READINGS:
            spent += time.process_time() - before
            decided += max(asked, 1)
        grant = running.popleft()
        study.tell(grant, {grant.until: PROBLEM.reading(grant.config, grant.until, grant.seed)})
    return spent / decided


_WITHOUT_STEPS = ("random", "grid", "latin-hypercube", "tpe", "cmaes", "gp", "boes")


@dataclass(frozen=True)
class Unreliable:
    """Virtual workers of which some are lost: a share of the steps, drawn from the trial's seed and the step."""

    workers: int
    share: float

    def open(self, objective: Any, directory: Path) -> Any:
        return _UnreliableSession(Simulated(self.workers).open(objective, directory), self.share)


class _UnreliableSession:
    """A simulated session that reports some readings as lost trials."""

    def __init__(self, session: Any, share: float) -> None:
        self._session, self._share = session, share
        self._seeds: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def submit(self, job: Job) -> None:
        self._seeds[job.trial] = job.seed
        self._session.submit(job)

    def collect(self, until: float | None) -> list[Report]:
        return [self._maybe_lost(report) for report in self._session.collect(until)]

    def _maybe_lost(self, report: Report) -> Report:
        if report.how != "reading" or not self._is_lost(report):
            return report
        self._session.cancel(report.trial)
        return report._replace(how="lost", reading=None, message="its worker is gone")

    def _is_lost(self, report: Report) -> bool:
        return bool(generator(self._seeds[report.trial], report.step, "lost").random() < self._share)


@dataclass(frozen=True)
class Stragglers:
    """A problem some of whose configurations take twenty times as long as the others."""

    problem: Any
    share: float = 0.02

    def __call__(self, trial: ss.Trial) -> Any:
        return self.problem(trial)

    def reading(self, config: Any, step: int, seed: int) -> Any:
        return self.problem.reading(config, step, seed)

    def seconds(self, config: Any, step: int, seed: int) -> float:
        slow = generator(seed, 0, "slow").random() < self.share
        return float(self.problem.seconds(config, step, seed)) * (20.0 if slow else 1.0)


def disorder(options: Options) -> list[Row]:
    """1,000 virtual workers of which some are lost, and stragglers: what the checks of the laws find at every event."""
    workers, steps = (100, 2_000) if options.quick else (1000, 20_000)
    rows = []
    for method in ("asha", "pboss", "hyperband", "random"):
        found = [_disordered(method, workers, steps, seed) for seed in range(options.seeds)]
        for name in found[0]:
            bound = 0.0 if name.startswith(("prefixes", "logs", "steps that")) else None
            rows.append(row(f"{method}: {name}", [one[name] for one in found], at_most=bound))
    return rows


def _disordered(method: str, workers: int, steps: int, seed: int) -> dict[str, float]:
    log = MemoryLog()
    study = ss.Study(
        PROBLEM.space, budget=ss.Budget(steps=steps), method=method, max_resource=PROBLEM.max_resource, storage=log,
        seed=seed,
    )  # fmt: skip
    study.run(Stragglers(PROBLEM), executor=Unreliable(workers, 0.01), retries=0, progress=False)
    events = log.read(0, 0)
    return {
        "events": len(events),
        "lost trials": sum(isinstance(event, Closed) and event.how == "lost" for event in events),
        "prefixes that break the budget law": violations(events, steps),
        "steps that were not spent": steps - study.spent["steps"],
        "logs that verify refuses": 0 if study.verify().ok else 1,
    }
