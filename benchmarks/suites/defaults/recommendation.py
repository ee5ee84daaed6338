"""A comparison of the rules of ``study.best``: which leads to the best models, by test values, and what retraining them
gives.

The rules see validation values only. They are compared on the test values of the readings that they recommend, on the
real trainings. A task's unit is the difference between the median configuration of random search, trained to the end,
and the best reading of all runs, both by test value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.play import Job, Task
from benchmarks.tasks.trainings import trainings
from shoestring.core.recommendation import RULES, recommend
from shoestring.executors import Simulated

TRAININGS = 12
METHODS = ("random", "asha", "auto")
FRESH_SEED = 10**6  # of a training that is repeated; no trial of a study has it


def table(options: Options) -> list[Row]:
    """Real trainings: test values of what each rule of study.best recommends; 0 is the best reading of all runs."""
    tasks, seeds = _asked(options)
    found = {task.name: _of_task(task, seeds) for task in tasks}
    names = [task.name for task in tasks]
    halves = {
        "choosing half": (names[::2], range(seeds // 2)),
        "confirming half": (names[1::2], range(seeds // 2, seeds)),
    }
    parts = {**halves, "all": (names, range(seeds))}
    rows = []
    for part, (of, some) in parts.items():
        means = {rule: [fmean(found[name][rule][seed] for seed in some) for name in of] for rule in RULES if some}
        rows += [row(f"{rule}, {part}", values) for rule, values in means.items()]
        rows += [row(f"{rule} − best, {part}", _differences(means[rule], means["best"])) for rule in list(means)[1:]]
    return rows + [
        row(f"{name}: {rule} − best", _differences(found[name][rule], found[name]["best"]))
        for name in names
        for rule in RULES[1:]
    ]


def _asked(options: Options) -> tuple[list[Task], int]:
    return (trainings()[::6] if options.quick else trainings()), options.seeds


def _differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _of_task(task: Task, seeds: int) -> Mapping[str, list[float]]:
    """The normalised test losses of each rule by seed, as means over the methods."""
    played = {(m, seed): Job(task, m, TRAININGS, seed).result() for m in METHODS for seed in range(seeds)}
    low, unit = scale(task, list(played.values()), [played["random", seed] for seed in range(seeds)])
    return {
        rule: [
            fmean((task.sign * _tested(task, rule, played[m, seed]) - low) / unit for m in METHODS)
            for seed in range(seeds)
        ]
        for rule in RULES
    }


def scale(
    task: Task, played: Sequence[Mapping[str, Any]], at_random: Sequence[Mapping[str, Any]]
) -> tuple[float, float]:
    """The lowest test loss of all readings, and how far above it the median configuration ends."""
    low = min(task.sign * test for result in played for tests in result["tests"] for test in tests)
    ends = [
        task.sign * tests[-1] for result in at_random for tests in result["tests"] if len(tests) == task.max_resource
    ]
    return low, median(ends) - low


def _tested(task: Task, rule: Any, result: Mapping[str, Any]) -> float:
    """The test value of the reading that a rule recommends; ties go to the later step, as in the library."""
    judged = [
        (recommend(rule, {step: task.sign * value for step, value in enumerate(values, 1)}), tests)
        for values, tests in zip(result["curves"], result["tests"], strict=True)
        if values
    ]
    best, tests = min(judged, key=lambda pair: (pair[0].loss, -pair[0].step))
    return float(tests[best.step - 1])


def retraining(options: Options) -> list[Row]:
    """Real trainings: test loss after retraining what auto recommends to the end, minus that of its checkpoint.

    Medians, as a training that diverges from a fresh seed can have any loss, and the share of runs that got worse.
    """
    tasks, seeds = _asked(options)
    rows = []
    for task in tasks:
        found = [_retrained(task, seed) for seed in range(seeds)]
        for name in ("same seed", "fresh seed"):
            ends = [math.inf if result[name] is None else result[name] for result in found]
            differences = _differences(ends, [result["checkpoint"] for result in found])
            rows.append(Row(f"{task.name}: {name}", median(differences), n=seeds))
            rows.append(row(f"{task.name}: {name}, worse", [float(d > 0) for d in differences]))
    return rows


def _retrained(task: Task, seed: int) -> dict[str, float | None]:
    name = key(task.name, seed, "auto, retrained", trainings=TRAININGS, **task.identity)
    result: dict[str, float | None] = runs().get(name, lambda: _retrain(task, seed))
    return result


def _retrain(task: Task, seed: int) -> dict[str, float | None]:
    study = ss.Study(
        task.space, budget=ss.Budget(steps=TRAININGS * task.max_resource), mode=task.mode,
        max_resource=task.max_resource, seed=seed,
    )  # fmt: skip
    study.run(task.objective, executor=Simulated(1), progress=False)
    best = study.best
    trial = study.trials[best.trial]
    return {
        "checkpoint": task.sign * trial.readings[best.step].metrics["test"],
        "same seed": _test_at_the_end(task, trial.config, trial.seed),
        "fresh seed": _test_at_the_end(task, trial.config, FRESH_SEED + seed),
    }


def _test_at_the_end(task: Task, config: Mapping[str, Any], seed: int) -> float | None:
    """The test loss of a configuration trained to the end; None if it diverges."""
    readings: Iterator[ss.Reading] = task.objective(SimpleNamespace(config=config, seed=seed, start=0))
    try:
        *_, last = islice(readings, task.max_resource)
    except ValueError:  # scikit-learn's word for a network that diverged
        return None
    return task.sign * last.metrics["test"] if math.isfinite(last.value) else None
