"""Several objectives and constraints: ours next to other libraries, on a surrogate and on known fronts.

Six tables:

===================== ================================================================================================
black_box             hypervolume after 25, 50 and 100 evaluations: two pairs and a triple of objectives on YAHPO's
                      surrogate of LCBench, and functions with a known front, some with a choice and an integer
constraints           regret of the best feasible error after 25, 50 and 100 evaluations where 30 % and 5 % are feasible
gaussian_processes    both after 25 and 50 evaluations on fewer problems, next to Optuna's Gaussian process, which takes
                      most of a second for a decision
curves                hypervolume of all readings within a budget of 5 and 10 full trainings
longer_curves         the same within 20
constraints_on_curves regret of the best feasible error within 5 and 10 full trainings
===================== ================================================================================================

A hypervolume is a share of the box between the best value of each objective among 20,000 random configurations (0 of a
function) and a reference point: their quantile of 75 % ("wide") or 25 % ("near"); of a function with two objectives
(1.1, 4) or (1.1, 1.1), with three 2 or 1.1 in each. The surrogate has values below the best of the random
configurations, so a share can be above 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from benchmarks.harness.common import Options, main
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row
from benchmarks.suites.objectives import peers
from benchmarks.suites.objectives.problems import PAIRS, TASKS, TRIPLE, Functions, Surrogate, bounds_of
from shoestring.core.pareto import hypervolume
from shoestring.methods.registry import named

Array = NDArray[np.float64]
EVALUATIONS = (25, 50, 100)
TRAININGS, MOST_TRAININGS = (5, 10), 20
SHARES = (0.3, 0.05)
# Of these tasks and functions Optuna's Gaussian process plays the first ones.
_FEW_TASKS, _FEW_FUNCTIONS = TASKS[:2], ("zdt1", "mixed")
_OURS = ("gp", "tpe", "random")
_ON_CURVES = ("forecast", "asha", "gp", "random")


@dataclass(frozen=True)
class Run:
    """One run: a method on a problem, and the values of all readings in the order in which they came."""

    method: str
    problem: Any
    seed: int
    budget: int


def black_box(options: Options) -> list[Row]:
    """Hypervolume after 25, 50 and 100 evaluations."""
    tasks = TASKS[: 1 if options.quick else None]
    groups: dict[str, list[Any]] = {kind: [Surrogate(task, kind) for task in tasks] for kind in (*PAIRS, TRIPLE)}
    groups["functions"] = [Functions(name) for name in ("zdt1", "zdt2", "zdt3", "mixed")]
    groups["functions of three"] = [Functions(name) for name in ("dtlz2", "mixed of three")]
    return [
        row
        for group, problems in groups.items()
        for method in (*_OURS, *peers.SAMPLERS)
        for row in _volumes(group, method, problems, options.seeds, EVALUATIONS[-1], EVALUATIONS)
    ]


def constraints(options: Options) -> list[Row]:
    """Regret of the best feasible error, and the share of infeasible evaluations."""
    tasks = TASKS[: 1 if options.quick else None]
    return [
        row
        for share in SHARES
        for method in (*_OURS, *peers.CONSTRAINED)
        for row in _regrets(method, [Surrogate(task, "seconds", share=share) for task in tasks], options.seeds)
    ]


def gaussian_processes(options: Options) -> list[Row]:
    """Both, on fewer problems and after fewer evaluations."""
    groups: dict[str, list[Any]] = {kind: [Surrogate(task, kind) for task in _FEW_TASKS] for kind in PAIRS}
    groups["functions"] = [Functions(name) for name in _FEW_FUNCTIONS]
    rows = []
    for group, problems in groups.items():
        for method in ("gp", "Optuna GP"):
            rows += _volumes(group, method, problems, options.seeds, EVALUATIONS[1], EVALUATIONS[:2])
    for share in SHARES:
        few = [Surrogate(task, "seconds", share=share) for task in _FEW_TASKS]
        for method in ("gp", "Optuna GP with constraints"):
            rows += _regrets(method, few, options.seeds, EVALUATIONS[:2])
    return rows


def curves(options: Options) -> list[Row]:
    """Hypervolume of all readings within 5 and 10 full trainings."""
    return _on_curves(options, TRAININGS)


def longer_curves(options: Options) -> list[Row]:
    """Hypervolume of all readings within 20 full trainings."""
    return _on_curves(options, TRAININGS[:1] if options.quick else (MOST_TRAININGS,))


def _on_curves(options: Options, budgets: Sequence[int]) -> list[Row]:
    rows = []
    for kind in PAIRS:
        problems = [Surrogate(task, kind, curve=True) for task in TASKS[: 1 if options.quick else None]]
        for method in (*_ON_CURVES, *peers.available((*peers.SAMPLERS, peers.MOASHA))):
            for budget in budgets:
                # How ours spend a budget depends on how much it is.
                rows += _volumes(f"{kind} curves", method, problems, options.seeds, budget, (budget,))
    return rows


def constraints_on_curves(options: Options) -> list[Row]:
    """Regret of the best feasible error, with a bound on the seconds of an epoch."""
    rows = []
    for share in SHARES:
        tasks = TASKS[: 1 if options.quick else None]
        problems = [Surrogate(task, PAIRS[0], curve=True, share=share) for task in tasks]
        for method in (*_ON_CURVES, *peers.CONSTRAINED):
            for budget in TRAININGS:
                rows += _regrets(method, problems, options.seeds, (budget,))
    return rows


def _volumes(group: str, method: str, problems: Sequence[Any], seeds: int, budget: int, at: Sequence[int]) -> list[Row]:
    """Rows of the hypervolume after some trainings, by both reference points, and the CPU time of a decision."""
    pairs = [(seed, problem) for seed in range(seeds) for problem in problems]
    found = [_played(Run(method, problem, seed, budget * problem.last)) for seed, problem in pairs]
    rows = []
    for count in at:
        for name in ("wide", "near"):
            volumes = [
                _volume(one, problem, name, count * problem.last)
                for one, (_, problem) in zip(found, pairs, strict=True)
            ]
            rows.append(_row(f"{group} {method}: {name} at {count}", volumes, len(problems)))
    return [*rows, *_times(f"{group} {method}", found, at[-1], len(problems))]


def _regrets(method: str, problems: Sequence[Surrogate], seeds: int, at: Sequence[int] = EVALUATIONS) -> list[Row]:
    """Rows of the regret after some trainings, the share of infeasible readings, and the CPU time of a decision."""
    pairs = [(seed, problem) for seed in range(seeds) for problem in problems]
    found = [_played(Run(method, problem, seed, at[-1] * problem.last)) for seed, problem in pairs]
    played = [(one, problem) for one, (_, problem) in zip(found, pairs, strict=True)]
    group = f"{problems[0].share:.0%} {method}"
    rows = []
    for count in at:
        regrets = [_regret(one, problem, count * problem.last) for one, problem in played]
        rows.append(_row(f"{group}: regret at {count}", regrets, len(problems)))
    missed = [_infeasible(one, problem) for one, problem in played]
    rows.append(_row(f"{group}: infeasible at {at[-1]}", missed, len(problems)))
    return [*rows, *_times(group, found, at[-1], len(problems))]


def _times(group: str, found: Sequence[Mapping[str, Any]], count: int, per_seed: int) -> list[Row]:
    """The CPU time of a decision, if it is known: not of a peer in a process of its own."""
    times = [one["ms"] for one in found]
    return [] if None in times else [_row(f"{group}: ms a decision at {count}", times, per_seed)]


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
    if run.method in peers.ALL:
        if run.problem.last > 1:  # none of them knows the budget, so the readings of a smaller one are the first
            run = replace(run, budget=MOST_TRAININGS * run.problem.last)
        identity = key(str(run.problem), run.seed, peers.version(run.method), code="2", budget=run.budget)
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
    tables = (black_box, constraints, gaussian_processes, curves, longer_curves, constraints_on_curves)
    main(__doc__, {each.__name__: each for each in tables}, seeds=8, quick_seeds=2)
