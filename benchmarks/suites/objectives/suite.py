"""Several objectives and constraints: ours next to Optuna, on a surrogate of learning curves and on known fronts.

Three tables:

=========== ==========================================================================================================
black_box   hypervolume after 25, 50 and 100 evaluations: two pairs of objectives on YAHPO's surrogate of LCBench, and
            functions with a known front, one of them with a choice and an integer
curves      hypervolume of all readings within a budget of 5, 10 and 20 full trainings
constraints regret of the best feasible error after 25, 50 and 100 evaluations where 30 % and 5 % are feasible
=========== ==========================================================================================================

A hypervolume is a share of the box between the best value of each objective among 20,000 random configurations (0 of a
function) and a reference point: their quantile of 75 % ("wide") or 25 % ("near"); of a function (1.1, 4) or (1.1, 1.1).
The surrogate has values below the best of the random configurations, so a share can be above 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from benchmarks.harness.common import Options, main
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row
from benchmarks.suites.objectives import peers
from benchmarks.suites.objectives.problems import PAIRS, TASKS, Functions, Surrogate, bounds_of
from shoestring.core.pareto import hypervolume
from shoestring.methods.registry import named

Array = NDArray[np.float64]
EVALUATIONS = (25, 50, 100)
TRAININGS = (5, 10, 20)
SHARES = (0.3, 0.05)
_OURS = {"black_box": ("gp", "tpe", "random"), "curves": ("forecast", "asha", "gp", "random"),
         "constraints": ("gp", "tpe", "random")}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run: a method on a problem, and the values of all readings in the order in which they came."""

    method: str
    problem: Any
    seed: int
    budget: int


def black_box(options: Options) -> list[Row]:
    """Hypervolume after 25, 50 and 100 evaluations."""
    rows = []
    for group, problems in _black_boxes(options.quick).items():
        for method in (*_OURS["black_box"], *peers.SAMPLERS):
            rows += _volumes(group, method, problems, options.seeds, EVALUATIONS[-1], EVALUATIONS, 1)
    return rows


def curves(options: Options) -> list[Row]:
    """Hypervolume of all readings within 5, 10 and 20 full trainings."""
    rows, last = [], 52
    budgets = TRAININGS[:2] if options.quick else TRAININGS
    for pair in PAIRS:
        problems = [Surrogate(task, pair, curve=True) for task in TASKS[: 1 if options.quick else None]]
        for method in (*_OURS["curves"], *peers.SAMPLERS):
            for budget in budgets:  # how a method spends its budget depends on how much it has
                rows += _volumes(
                    f"{pair} curves", method, problems, options.seeds, budget * last, (budget * last,), last
                )
    return rows


def constraints(options: Options) -> list[Row]:
    """Regret of the best feasible error, and the share of infeasible evaluations."""
    rows = []
    for share in SHARES:
        problems = [Surrogate(task, "seconds", share=share) for task in TASKS[: 1 if options.quick else None]]
        for method in (*_OURS["constraints"], *peers.CONSTRAINED):
            found = [_played(Run(method, p, seed, EVALUATIONS[-1])) for seed in range(options.seeds) for p in problems]
            per_seed = len(problems)
            for count in EVALUATIONS:
                regrets = [_regret(one, p, count) for one, p in zip(found, problems * options.seeds, strict=True)]
                rows.append(_row(f"{share:.0%} {method}: regret at {count}", regrets, per_seed))
            missed = [_infeasible(one, p) for one, p in zip(found, problems * options.seeds, strict=True)]
            rows.append(_row(f"{share:.0%} {method}: infeasible", missed, per_seed))
    return rows


def _black_boxes(quick: bool) -> dict[str, list[Any]]:
    tasks = TASKS[: 1 if quick else None]
    surrogates = {pair: [Surrogate(task, pair) for task in tasks] for pair in PAIRS}
    return {**surrogates, "functions": [Functions(name) for name in ("zdt1", "zdt2", "zdt3", "mixed")]}


def _volumes(
    group: str, method: str, problems: Sequence[Any], seeds: int, budget: int, at: Sequence[int], last: int
) -> list[Row]:
    """Rows of the hypervolume at some amounts of spending, by both reference points, and the CPU time of a decision."""
    pairs = [(seed, problem) for seed in range(seeds) for problem in problems]
    found = [_played(Run(method, problem, seed, budget)) for seed, problem in pairs]
    rows = []
    for count in at:
        for name in ("wide", "near"):
            volumes = [_volume(one, problem, name, count) for one, (_, problem) in zip(found, pairs, strict=True)]
            rows.append(_row(f"{group} {method}: {name} at {count // last}", volumes, len(problems)))
    rows.append(
        _row(f"{group} {method}: ms a decision at {at[-1] // last}", [one["ms"] for one in found], len(problems))
    )
    return rows


def _row(name: str, values: Sequence[float], per_seed: int) -> Row:
    """The mean, with its error over seeds: each seed plays all problems."""
    by_seed = np.array(values).reshape(-1, per_seed).mean(axis=1)
    error = float(by_seed.std(ddof=1) / np.sqrt(len(by_seed))) if len(by_seed) > 1 else None
    return Row(name, float(by_seed.mean()), error=error, n=len(by_seed))


def _volume(run: Mapping[str, Any], problem: Any, reference: str, count: int) -> float:
    ideal, worst = bounds_of(problem, reference)
    z = (np.array(run["values"][:count]) - ideal) / (worst - ideal)
    return hypervolume(z, np.ones(z.shape[1]))


def _regret(run: Mapping[str, Any], problem: Surrogate, count: int) -> float:
    values = np.array(run["values"][:count])
    feasible = values[values[:, 1] <= problem.bound, 0]
    best, median, worst = problem.scale
    return float(((feasible.min() if len(feasible) else worst) - best) / (median - best))


def _infeasible(run: Mapping[str, Any], problem: Surrogate) -> float:
    return float((np.array(run["values"])[:, 1] > problem.bound).mean())


def _played(run: Run) -> dict[str, Any]:
    if run.method in peers.SAMPLERS or run.method in peers.CONSTRAINED:
        identity = key(str(run.problem), run.seed, f"{run.method}, {peers.version()}", code="1", budget=run.budget)
        return dict(runs().get(identity, partial(peers.play, run.method, run.problem, run.seed, run.budget)))
    identity = key(str(run.problem), run.seed, named(run.method), budget=run.budget)
    return dict(runs().get(identity, partial(_play, run)))


def _play(run: Run) -> dict[str, Any]:
    """Play one of our methods on the simulated executor; CPU time of a decision is that of the whole run."""
    problem, values = run.problem, list[list[float]]()
    study = ss.Study(problem.space, budget=ss.Budget(steps=run.budget), method=run.method, seed=run.seed,
                     max_resource=problem.last, **problem.goals)  # fmt: skip
    decided = peers.Stopwatch()
    while True:
        with decided:
            grant = study.ask()
        if grant is None:
            return {"values": values, "ms": decided.milliseconds()}
        for step in range(grant.start + 1, grant.until + 1):
            found = problem.values(grant.config, step)
            values.append(list(found))
            with decided.more():
                study.tell(grant, {step: dict(zip(problem.names, found, strict=True))})


def run() -> None:
    main(__doc__, {"black_box": black_box, "curves": curves, "constraints": constraints}, seeds=8, quick_seeds=2)
