"""Black boxes: what ``method="auto"`` finds in 20 rounds of 5 evaluations, and where parts of the space fail.

The tasks and the score are those of ``batch_optimisation.py``. Every second task, with other seeds than these, was used
to choose the default; the others confirm it. ``auto`` picks ``gp`` on all of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from statistics import fmean
from typing import NamedTuple

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.contests import BATCH, ROUNDS, Run, played, run_key, scores, tasks_of
from benchmarks.harness.decision_cost import batches
from benchmarks.harness.kept import runs
from benchmarks.harness.measurements import Row, row
from benchmarks.peers.optuna_sampling import optuna_sampler, suggested
from benchmarks.suites.defaults.failing_functions import FailingFunction, failing_functions
from shoestring.problems import contest_score
from shoestring.samplers import GaussianProcess
from shoestring.spaces.codec import Codec

SEEDS = 10
OURS = ("auto", "boes", "tpe", "cmaes", "random")
# Optuna's GP takes ten times the CPU seconds of the others, so it has fewer seeds; without torch it is left out.
PEERS = {"Optuna TPE": SEEDS, "Optuna GP": 3} if find_spec("torch") else {"Optuna TPE": SEEDS}
# A task is lost if the score is below the first limit and another of our methods has the second.
LOST, SOLVED = 0.05, 0.5


def table(options: Options) -> list[Row]:
    """Black boxes: mean contest score, CPU seconds, and evaluations lost where parts of the space fail."""
    return [*_suite_rows(options), *_cost_rows(options), *_failing_rows(options)]


def _suite_rows(options: Options) -> list[Row]:
    tasks, seeds = tasks_of(options), options.seeds or SEEDS
    found = played({name: name for name in OURS}, tasks, seeds)
    for peer, most in PEERS.items():
        found |= played({peer: None}, tasks, min(seeds, most))
    by_method = scores(found, tasks)
    rows = [row(f"{name}: score", of, at_least=0.85 if name == "auto" else None) for name, of in by_method.items()]
    rows.append(row("auto: score on the tasks that it was chosen on", by_method["auto"][::2]))
    rows.append(row("auto: score on the other tasks", by_method["auto"][1::2]))
    rows.append(Row("auto: tasks lost", _lost(by_method), at_most=0))
    rows += [_cpu(name, of, 1.5 if name == "auto" else None) for name, of in found.items()]
    return rows + [
        Row(f"{task.name}: {name}", of[i], n=seeds) for i, task in enumerate(tasks) for name, of in by_method.items()
    ]


def _lost(by_method: Mapping[str, Sequence[float]]) -> int:
    others = zip(*(by_method[name] for name in OURS[1:]), strict=True)
    pairs = zip(by_method["auto"], map(max, others), strict=True)
    return sum(own < LOST and best >= SOLVED for own, best in pairs)


def _cpu(name: str, by_task: Mapping[str, Sequence[Run]], limit: float | None) -> Row:
    return row(f"{name}: CPU s a run", [fmean(run.cpu for run in of) for of in by_task.values()], at_most=limit)


def _cost_rows(options: Options) -> list[Row]:
    count = 4 if options.quick else 12
    return [
        row("gp: CPU s a batch of 5 at 100 observations", batches(GaussianProcess(), 100, 5, count), at_most=0.15),
        row("gp: CPU s a batch of 5 at 1,000 observations", batches(GaussianProcess(), 1000, 5, count), at_most=0.3),
    ]


class Found(NamedTuple):
    """A run on a function that fails in places: the best value, the evaluations that failed, CPU seconds."""

    best: float
    failed: int
    cpu: float


def _failing_rows(options: Options) -> list[Row]:
    tasks = failing_functions()[::3] if options.quick else failing_functions()
    rows, most = [], options.seeds or SEEDS
    for name in (*OURS, *PEERS):
        seeds = range(min(most, PEERS.get(name, most)))
        of = {task: [_found(task, name, seed) for seed in seeds] for task in tasks}
        shares = [fmean(run.failed for run in of[task]) / (ROUNDS * BATCH) for task in tasks]
        reached = [contest_score([run.best for run in of[task]], task.problem.best, task.reference) for task in tasks]
        rows.append(row(f"failing regions, {name}: share of evaluations that failed", shares))
        rows.append(row(f"failing regions, {name}: score", reached))
        rows += [Row(f"{task.name}: {name}", score, n=len(seeds)) for task, score in zip(tasks, reached, strict=True)]
    return rows


def _found(task: FailingFunction, name: str, seed: int) -> Found:
    peer = name in PEERS
    identity = run_key(f"failing: {task.name}", seed, name, None if peer else name, rounds=ROUNDS, batch=BATCH)
    return Found(*runs().get(identity, lambda: (_optuna if peer else _ours)(task, name, seed)))


def _ours(task: FailingFunction, method: str, seed: int) -> Found:
    before = time.process_time()
    budget = ss.Budget(evaluations=ROUNDS * BATCH)
    study = ss.Study(task.problem.space, budget=budget, method=method, seed=seed)
    while grants := [grant for _ in range(BATCH) if (grant := study.ask()) is not None]:
        for grant in grants:
            if task.fails(grant.config):
                study.fail(grant, "this part of the space fails")
            else:
                study.tell(grant, task.problem.value(grant.config))
    failed = sum(trial.state == "failed" for trial in study.trials)
    return Found(study.best.value, failed, round(time.process_time() - before, 4))


def _optuna(task: FailingFunction, sampler: str, seed: int) -> Found:
    import optuna

    before = time.process_time()
    study = optuna.create_study(sampler=optuna_sampler(sampler, seed, noisy=False))
    codec, failed = Codec(task.problem.space), 0
    for _ in range(ROUNDS):
        trials = [study.ask() for _ in range(BATCH)]
        for trial, config in [(trial, suggested(trial, task.problem.space, codec)) for trial in trials]:
            if task.fails(config):
                failed += 1
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, task.problem.value(config))
    return Found(study.best_value, failed, round(time.process_time() - before, 4))
