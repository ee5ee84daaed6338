"""One run of the user suite: a method on a task, through the public API, with a budget of some full trainings.

A run's result is a small JSON object, so that it can be kept (``kept.py``):

==============  ==================================================================================================
seen            the best value among all readings; None if there was none
seen_test       the test value of that reading; None if readings have no metric ``test``
best            the value of ``study.best``; for Optuna, of ``study.best_trial``
best_test       the test value of the reading that ``study.best`` names
safe            the best reading of the configurations that cannot fail; None unless the task says which these are
arms, failed    how many configurations were started, and how many trials failed
steps, lost     the steps spent, and those of them that went into trials that failed
cpu             CPU seconds of everything but the objective: decisions, and the log or its counterpart
curves, tests   the values and test values of each trial, step by step, in the order in which trials were started
==============  ==================================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

from ConfigSpace import ConfigurationSpace

import shoestring as ss
from benchmarks.harness.kept import key, runs
from shoestring.core.decisions import Method
from shoestring.core.events import Closed
from shoestring.errors import EverythingFailed
from shoestring.executors import Simulated
from shoestring.spaces.serialisation import serialise

Result = dict[str, Any]
# Enough for every comparison, and half of the size of all digits.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Task:
    """A task as a user would write it: a space, and an objective that yields a reading after each step.

    A reading is a number or ``ss.Reading(value, test=...)``. ``regret`` is the normalised regret of a value, None where
    the best possible value is not known. ``safe`` says which configurations cannot fail. Kept runs are found by the
    name, the space, ``max_resource`` and the ``version``: raise the version when the objective changes.
    """

    name: str
    space: ConfigurationSpace
    max_resource: int
    objective: Callable[[ss.Trial], Iterator[Any]]
    mode: Literal["min", "max"] = "min"
    regret: Callable[[float], float] | None = None
    safe: Callable[[Mapping[str, Any]], bool] | None = None
    version: int = 1

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Identify the task by everything that its runs depend on, besides its name."""
        space = hashlib.sha256(json.dumps(serialise(self.space), sort_keys=True, default=str).encode())
        return {"max_resource": self.max_resource, "mode": self.mode, "space": space.hexdigest()[:12],
                "version": self.version}  # fmt: skip

    @property
    def sign(self) -> float:
        """Times a value, this is a loss."""
        return 1.0 if self.mode == "min" else -1.0


class TimedObjective:
    """An objective and the CPU seconds that were spent in it."""

    def __init__(self, objective: Callable[[ss.Trial], Iterator[Any]]) -> None:
        self._objective = objective
        self.cpu = 0.0

    def __call__(self, trial: ss.Trial) -> Iterator[Any]:
        readings = self._objective(trial)
        while True:
            before = time.process_time()
            try:
                reading = next(readings)
            except StopIteration:
                return
            finally:
                self.cpu += time.process_time() - before
            yield reading


@dataclass
class Curve:
    """The results of one trial: values and test values by step, and how it ended."""

    config: Mapping[str, Any]
    values: list[float] = field(default_factory=list)
    tests: list[float | None] = field(default_factory=list)
    failed: bool = False
    steps: int = 0  # paid for: one more than there are values if a step failed


def played(task: Task, method: str | Method, trainings: int, seed: int, workers: int = 1) -> Result:
    """The result of one of our methods, by its name or as an object. Several workers share a virtual clock."""
    objective = TimedObjective(task.objective)
    before = time.process_time()
    study = ss.Study(
        task.space, budget=ss.Budget(steps=trainings * task.max_resource), method=method, mode=task.mode,
        max_resource=task.max_resource, seed=seed,
    )  # fmt: skip
    try:
        study.run(objective, executor=Simulated(workers), progress=False)
        best = study.best
    except EverythingFailed:
        best = None
    cpu = time.process_time() - before - objective.cpu
    curves = _curves(study)
    value, test = (best.value, curves[best.trial].tests[best.step - 1]) if best else (None, None)
    return result(task, curves, value, test, cpu)


def _curves(study: ss.Study) -> list[Curve]:
    """The trials of a study; every step has a reading, as the objective yields one after each."""
    closing = {event.trial: event.steps for event in study.events() if isinstance(event, Closed)}
    return [
        Curve(
            trial.config,
            [reading.value for reading in trial.readings.values()],
            [reading.metrics.get("test") for reading in trial.readings.values()],
            trial.state == "failed",
            trial.step + closing.get(trial.index, 0),
        )
        for trial in study.trials
    ]


def result(task: Task, curves: Sequence[Curve], best: float | None, best_test: float | None, cpu: float) -> Result:
    """The result of a run, as the head of this module describes it."""
    readings = [(task.sign * value, i, step) for i, c in enumerate(curves) for step, value in enumerate(c.values)]
    loss, trial, step = min(readings, default=(math.inf, -1, -1))
    seen = [c for c in curves if c.values and task.safe and task.safe(c.config)]
    tested = any(test is not None for c in curves for test in c.tests)
    return {
        "seen": _rounded(task.sign * loss) if readings else None,
        "seen_test": _rounded(curves[trial].tests[step]) if readings else None,
        "best": _rounded(best),
        "best_test": _rounded(best_test),
        "safe": _rounded(task.sign * min(task.sign * v for c in seen for v in c.values)) if seen else None,
        "arms": len(curves),
        "failed": sum(c.failed for c in curves),
        "steps": sum(c.steps for c in curves),
        "lost": sum(c.steps for c in curves if c.failed),
        "cpu": round(cpu, 4),
        "curves": [[_rounded(value) for value in c.values] for c in curves],
        **({"tests": [[_rounded(test) for test in c.tests] for c in curves]} if tested else {}),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class Job:
    """A run that is to be played: of one of our methods, or of a peer."""

    task: Task
    method: str
    trainings: int
    seed: int

    @property
    def key(self) -> str:
        """A peer's run without parts of ours does not depend on our code, so a change of ours does not repeat it."""
        code = _peers().version() if self._is_peer and "our" not in self.method else None
        return key(self.task.name, self.seed, self.method, code=code, trainings=self.trainings, **self.task.identity)

    @property
    def _is_peer(self) -> bool:
        return self.method.startswith(("Optuna", "our sampler"))

    def result(self) -> Result:
        """As it was kept, or played now."""
        play = _peers().played if self._is_peer else played
        return runs().get(self.key, lambda: play(self.task, self.method, self.trainings, self.seed))


def _peers() -> Any:
    """Imported only where it is needed, as it needs Optuna."""
    return import_module("benchmarks.peers.optuna_pruning")
