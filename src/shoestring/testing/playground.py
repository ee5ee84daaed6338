"""A small problem with everything that makes life hard, and a study played on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from shoestring.core.budget import Budget
from shoestring.core.decisions import Method
from shoestring.core.events import Event
from shoestring.core.readings import Reading
from shoestring.executors import Simulated, Trial
from shoestring.logs.memory import MemoryLog
from shoestring.study import Study

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


@dataclass(frozen=True)
class Playground:
    """Curves over a mixed, conditional space; steps of different lengths; some trials fail.

    ``scale`` and ``shift`` change the readings and nothing else, ``failing`` is the share of
    configurations that raise or give NaN.
    """

    scale: float = 1.0
    shift: float = 0.0
    failing: float = 0.0

    @property
    def space(self) -> ConfigurationSpace:
        from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer

        space = ConfigurationSpace()
        kind, rate = Categorical("kind", ["flat", "steep", "bent"]), Float("rate", (1e-4, 1.0), log=True)
        width, bend = Integer("width", (1, 64), log=True), Float("bend", (0.0, 1.0))
        space.add([kind, rate, width, bend, EqualsCondition(bend, kind, "bent")])
        return space

    def __call__(self, trial: Trial) -> Iterator[Reading]:
        for step in count(trial.start + 1):
            yield self.reading(trial.config, step, trial.seed)

    def reading(self, config: dict[str, Any], step: int, seed: int) -> Reading:
        fate = _fraction(config["rate"] * 7919)
        if fate < self.failing / 2 and step >= 2:
            raise RuntimeError("this configuration always breaks at its second step")
        if fate < self.failing:
            return Reading(math.nan, cost=0.5)
        depth = {"flat": 0.3, "steep": 0.1}.get(config["kind"], 0.5 * config.get("bend", 0.0))
        floor = depth + abs(math.log10(config["rate"]) + 2) / 4 + abs(math.log2(config["width"]) - 3) / 12
        return Reading(self.scale * (floor + 1 / (step + 1)) + self.shift, cost=1 + fate)

    def seconds(self, config: dict[str, Any], step: int, seed: int) -> float:
        return 1 + _fraction(config["rate"] * 104729)


def _fraction(x: float) -> float:
    return x - math.floor(x)


def played(
    method: Method,
    problem: Any = None,
    *,
    events: Sequence[Event] = (),
    budget: Budget | None = None,
    workers: int = 4,
    max_resource: int | None = 9,
    seed: int = 0,
) -> tuple[Study, list[Event]]:
    """Play a study to its end on the simulated executor, from the start or from a cut log."""
    problem = problem or Playground()
    log = MemoryLog()
    if events:
        log.create("study", events[0])
        log.append(0, list(events[1:]), 1)
    limits = budget or Budget(steps=150)
    study = Study(problem.space, budget=limits, method=method, max_resource=max_resource, storage=log, seed=seed)
    study.run(problem, executor=Simulated(workers))
    return study, log.read(0, 0)
