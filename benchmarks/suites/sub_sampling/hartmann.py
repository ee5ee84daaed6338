"""Noisy Hartmann-6: the readings of a trial come nearer to the truth with every step.

The reading at step n is the function's value plus the mean of n draws of noise, which follow from the
trial's seed: a resumed trial keeps the luck that it had, a fresh one has its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from shoestring.core.decisions import Method
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.executors import Simulated, Trial
from shoestring.methods import BOHB, BOSS, named
from shoestring.problems import Synthetic

TOP = 27
TRAININGS = 100
METHODS: dict[str, Method] = {
    "random": named("random"),
    "Hyperband": named("hyperband"),
    "BOHB": BOHB(),
    "BOSS, ss": BOSS(rule="ss"),
    "BOSS, mss": BOSS(rule="mss"),
}


@dataclass(frozen=True)
class NoisyHartmann:
    """``sigma`` is the noise of one draw; the function itself goes from -3.32 to 0."""

    sigma: float = 1.0
    function: Synthetic = Synthetic("hartmann6")  # noqa: RUF009 - it is frozen

    def reading(self, config: dict[str, Any], step: int, seed: int) -> float:
        return self.function.value(config) + self.sigma * _mean_noise(seed)[step - 1]

    def __call__(self, trial: Trial) -> Iterator[float]:
        for step in range(trial.start + 1, TOP + 1):
            yield self.reading(trial.config, step, trial.seed)

    def log_regret(self, config: dict[str, Any]) -> float:
        return math.log(max(self.function.value(config) - self.function.best, 1e-12))


@lru_cache(4096)
def _mean_noise(seed: int) -> tuple[float, ...]:
    draws = generator(seed, 0, "noise").standard_normal(TOP)
    return tuple((np.cumsum(draws) / np.arange(1, TOP + 1)).tolist())


def chosen(history: History) -> dict[str, Any]:
    """The arm with the lowest mean at the furthest step that any reached.

    This is ``study.best`` wherever arms are replicated; where they are not it takes any arm's furthest
    step, and with this noise that would be a lucky first reading.
    """
    furthest = max(step for _, step, _ in history.readings)
    means = {}
    for arm in history.arms:
        losses = [trial.losses[furthest] for trial in arm.trials if furthest in trial.losses]
        if losses:
            means[arm.index] = sum(losses) / len(losses)
    return history.arms[min(means, key=lambda index: (means[index], index))].config


def log_regret(method: Method, problem: NoisyHartmann, seed: int) -> float:
    study = ss.Study(
        problem.function.space, budget=ss.Budget(steps=TRAININGS * TOP), method=method, max_resource=TOP, seed=seed
    )
    study.run(problem, executor=Simulated(1))
    return problem.log_regret(chosen(study.history))


def table(options: Options) -> list[Row]:
    """Noisy Hartmann-6: mean log regret of the arm chosen in the end, after 100 full trainings."""
    seeds = range(options.seeds or (4 if options.quick else 50))
    found = {name: [log_regret(method, NoisyHartmann(), seed) for seed in seeds] for name, method in METHODS.items()}
    rows = [row(name, values) for name, values in found.items()]
    ahead = np.subtract(found["Hyperband"], found["BOHB"]).tolist()
    behind = np.subtract(found["BOSS, mss"], found["BOHB"]).tolist()
    return [*rows, row("Hyperband − BOHB", ahead, at_least=0.4), row("BOSS, mss − BOHB", behind, at_most=0.35)]
