"""A small problem that has everything that makes tuning difficult, and ways to play a study on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from shoestring.core.budget import Budget
from shoestring.core.decisions import Method
from shoestring.core.events import Event
from shoestring.core.grants import Grant
from shoestring.core.readings import Reading
from shoestring.executors import Simulated, Trial
from shoestring.logs.memory import MemoryLog
from shoestring.study import Study

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


@dataclass(frozen=True)
class Playground:
    """Learning curves over a mixed, conditional space; steps of different lengths; some trials fail.

    ``scale`` and ``shift`` change the readings and nothing else, ``failing`` is the share of
    configurations that raise or give NaN. With the ``names`` of two objectives, readings have both and a constraint;
    ``scales`` are the units of the two.
    """

    scale: float = 1.0
    shift: float = 0.0
    failing: float = 0.0
    names: tuple[str, ...] = ()
    scales: tuple[float, float] = (1.0, 1.0)

    @property
    def goals(self) -> dict[str, Any]:
        """The objectives and constraints of a study of this problem."""
        if not self.names:
            return {}
        return {"objectives": dict(zip(self.names, ("min", "max"), strict=True)), "constraints": {"heat": "<= 0.8"}}

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

    def failing_step(self, config: dict[str, Any]) -> int | None:
        """The step at which a trial of this configuration fails: 1 gives NaN, 2 raises; None if it does not fail."""
        fate = _fraction(config["rate"] * 7919)
        return 2 if fate < self.failing / 2 else 1 if fate < self.failing else None

    def reading(self, config: dict[str, Any], step: int, seed: int) -> Reading:
        failing = self.failing_step(config)
        if failing == 2 and step >= 2:
            raise RuntimeError("this configuration always breaks at its second step")
        if failing == 1:
            return Reading(math.nan, cost=0.5)
        depth = {"flat": 0.3, "steep": 0.1}.get(config["kind"], 0.5 * config.get("bend", 0.0))
        floor = depth + abs(math.log10(config["rate"]) + 2) / 4 + abs(math.log2(config["width"]) - 3) / 12
        value = self.scale * (floor + 1 / (step + 1)) + self.shift
        cost = 1 + _fraction(config["rate"] * 7919)
        if not self.names:
            return Reading(value, cost=cost)
        speed = (4 - math.log10(config["rate"])) / config["width"]
        both = dict(zip(self.names, (self.scales[0] * value, self.scales[1] * speed), strict=True))
        return Reading(cost=cost, heat=_fraction(config["rate"] * 31337), **both)

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
    known: Callable[[Study], None] | None = None,
) -> tuple[Study, list[Event]]:
    """Play a study to its end on the simulated executor, from the start or from a cut log.

    ``known`` gives a new study what the user knows already.
    """
    problem = problem or Playground()
    log = MemoryLog()
    if events:
        log.create("study", events[0])
        log.append(0, list(events[1:]), 1)
    limits = budget or Budget(steps=150)
    study = Study(problem.space, budget=limits, method=method, max_resource=max_resource, storage=log, seed=seed,
                  **getattr(problem, "goals", {}))  # fmt: skip
    if known is not None and not events:
        known(study)
    study.run(problem, executor=Simulated(workers))
    return study, log.read(0, 0)


def asked(
    method: Method,
    space: Any,
    answer: Callable[[Grant], float | None],
    *,
    budget: str,
    max_resource: int | None = None,
    held: int = 3,
) -> Study:
    """Ask and tell until the study ends, with up to ``held`` grants open; an answer of None is a failure."""
    study = Study(space, budget=budget, method=method, max_resource=max_resource)
    grants: list[Grant] = []
    while True:
        grant = study.ask() if len(grants) < held else None
        if grant is not None:
            grants.append(grant)
            continue
        if not grants:
            return study
        grant = grants.pop(0)
        value = answer(grant)
        if value is None:
            study.fail(grant, "on purpose")
        else:
            study.tell(grant, [value] * (grant.until - grant.start))
