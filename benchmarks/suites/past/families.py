"""The tasks that are left out one after another, and the past of each: finished studies of others of its family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.harness.recorded import DATA, UNTRAINED_FIRST, tables
from benchmarks.tasks import yahpo_lcbench as yahpo
from benchmarks.tasks.black_boxes import grid_tables
from shoestring.core.events import Event, Opened, from_json, to_json
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.problems import CurveTable

# How long the studies of the past are, in trainings or evaluations; the random configurations of the past that has
# only bad results, and how many of these it has.
PAST_TRAININGS, PAST_EVALUATIONS = 10, 50
DRAWN, WORST = 200, 20


@dataclass(frozen=True, eq=False)
class Task:
    """A problem, and the normalised regret of a configuration's reading at a step."""

    name: str
    space: Any
    max_resource: int
    objective: Any
    mode: str
    regret: Callable[[Mapping[str, Any], float], float]
    last: Callable[[Mapping[str, Any]], float]

    def budget(self, amount: int) -> ss.Budget:
        """A budget of full trainings, or of evaluations of a black box."""
        return ss.Budget(steps=amount * self.max_resource) if self.max_resource > 1 else ss.Budget(evaluations=amount)

    def study(self, amount: int, seed: int, **options: Any) -> ss.Study:
        """A study that has spent its budget."""
        study = ss.Study(
            self.space, budget=self.budget(amount), mode=self.mode, seed=seed,
            max_resource=self.max_resource if self.max_resource > 1 else None, **options,
        )  # fmt: skip
        return study.run(self.objective, executor=Simulated(1), progress=False)

    def regret_seen(self, study: ss.Study) -> float:
        """Of the best reading that the study has seen."""
        pairs = ((self.regret(t.config, r.value)) for t in study.trials for r in t.readings.values())
        return min(pairs)


@cache
def yahpo_lcbench() -> tuple[Task, ...]:
    return tuple(map(_of_yahpo, yahpo.names()))


def _of_yahpo(name: str) -> Task:
    problem, reference = yahpo.Problem(name), yahpo.references()[name]
    return Task(
        name, yahpo.SPACE, yahpo.EPOCHS, problem, "min", lambda config, value: reference.regret(value),
        lambda config: problem.reading(config, yahpo.EPOCHS),
    )  # fmt: skip


@cache
def lcbench() -> tuple[Task, ...]:
    """The tables of lcbench: any configuration of the ranges is trained as the nearest row."""
    return tuple(_of_curves(path) for path in tables(["lcbench"]))


@cache
def taskset() -> tuple[Task, ...]:
    """The tables of taskset: text models, whose optimiser has a learning rate and decays that MLPs do not have."""
    return tuple(_of_curves(path) for path in tables(["taskset_imdb"]))


def _of_curves(path: Any) -> Task:
    table = CurveTable.load(path, skip=int(path.parent.name in UNTRAINED_FIRST), snap=True)
    return Task(
        path.stem, table.space, table.max_resource, table, table.mode,
        lambda config, value: table.normalised_regret(value), lambda config: table.reading(config, table.max_resource),
    )  # fmt: skip


@cache
def black_boxes() -> tuple[tuple[Task, ...], ...]:
    """The tables of two families, one value for each configuration."""
    found = [task for task in grid_tables() if task.family in ("fcnet_hpolib", "hpobench_mlp")]
    if not found:
        raise Unavailable(f"there are no tables in {DATA}; set SHOESTRING_DATA to where they are")
    families = sorted({task.family for task in found})
    return tuple(tuple(_of_grid(task) for task in found if task.family == family) for family in families)


def _of_grid(task: Any) -> Task:
    rng = np.random.default_rng(0)
    codec = ss.Study(task.space, budget="1 evaluation", method="random").history.codec
    sign = 1.0 if task.mode == "min" else -1.0
    median = float(np.median([task.value(codec.sample(rng)) for _ in range(1000)]))
    return Task(
        task.name, task.space, 1, lambda trial: task.read(trial.config, trial.seed), task.mode,
        lambda config, value: sign * (task.value(config) - task.best) / (sign * (median - task.best)), task.value,
    )  # fmt: skip


@cache
def past_log(task: Task, seed: int) -> tuple[Event, ...]:
    """The log of a finished study of a task, by the default method: kept, or played now."""
    amount = PAST_TRAININGS if task.max_resource > 1 else PAST_EVALUATIONS
    kind = type(task.objective).__name__
    name = key(f"past log {task.name}", seed, "auto", amount=amount, kind=kind, steps=task.max_resource)
    rows = runs().get(name, lambda: _rows(task.study(amount, seed)))
    return tuple(from_json(kind, at, body, seq) for seq, (kind, at, body) in enumerate(rows))


def _rows(study: ss.Study) -> list[tuple[str, float, str]]:
    return [(event.kind, event.at, to_json(event)) for event in study.events()]


@cache
def worst_log(task: Task, seed: int) -> tuple[Event, ...]:
    """A study that knows the ends of bad configurations alone: the worst tenth of random ones."""
    study = ss.Study(
        task.space, budget=task.budget(1), mode=task.mode, seed=seed, method="random",
        max_resource=task.max_resource if task.max_resource > 1 else None,
    )  # fmt: skip
    rng, sign = np.random.default_rng(seed), 1.0 if task.mode == "min" else -1.0
    drawn = [study.history.codec.sample(rng) for _ in range(DRAWN)]
    for config in sorted(drawn, key=lambda config: -sign * task.last(config))[:WORST]:
        study.add(config, task.last(config))
    return tuple(study.events())


def stored(logs: Sequence[Sequence[Event]]) -> MemoryLog:
    """A storage with these studies."""
    storage = MemoryLog()
    for number, events in enumerate(logs):
        study = storage.create(f"past-{number}", events[0])
        storage.append(study, events[1:], 1)
    return storage


def negated(events: Sequence[Event]) -> tuple[Event, ...]:
    """The same study with the sign of every reading changed: what was worst at a step is best."""
    opened = events[0]
    assert isinstance(opened, Opened)
    return (replace(opened, mode="min" if opened.mode == "max" else "max"), *events[1:])
