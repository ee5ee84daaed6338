"""YAHPO's surrogate of LCBench with two values of each configuration, and functions with a known front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from benchmarks.tasks import yahpo_lcbench as yahpo

Array = NDArray[np.float64]
# Four of the surrogate's tasks.
TASKS = ("126025", "146212", "168868", "189866")
# Pairs of values of a reading: the error in %, and the logarithm of the seconds of an epoch or the cross entropy.
PAIRS = ("error and log seconds", "error and cross entropy")
_SAMPLE = 20_000


@dataclass(frozen=True)
class Surrogate:
    """A task with two objectives, or with one and a bound that a ``share`` of random configurations keeps."""

    task: str
    pair: str
    curve: bool = False
    share: float = 0.0

    @property
    def space(self) -> Any:
        return yahpo.SPACE

    @property
    def last(self) -> int:
        return yahpo.EPOCHS if self.curve else 1

    @property
    def names(self) -> tuple[str, str]:
        return ("error", "second")

    @property
    def goals(self) -> dict[str, Any]:
        if self.share:
            return {"objectives": {"error": "min"}, "constraints": {"second": f"<= {self.bound!r}"}}
        return {"objectives": {"error": "min", "second": "min"}}

    def values(self, config: Mapping[str, Any], step: int) -> tuple[float, float]:
        epoch = step if self.curve else yahpo.EPOCHS
        row = np.array([[epoch, *(float(config[name]) for name in yahpo.ORDER)]])
        found = _answers(self.task, row, self.pair)[0]
        return float(found[0]), float(found[1])

    @property
    def bound(self) -> float:
        return float(np.quantile(_sampled(self.task, self.pair)[:, 1], self.share))

    @property
    def scale(self) -> tuple[float, float, float]:
        """The best, the median and the worst error of feasible random configurations."""
        sampled = _sampled(self.task, self.pair)
        errors = sampled[sampled[:, 1] <= self.bound, 0]
        return float(errors.min()), float(np.median(errors)), float(errors.max())


def _answers(task: str, rows: Array, pair: str) -> Array:
    """Error, and log seconds of an epoch or cross entropy, of rows of an epoch and the parameters. Shape (n, 2)."""
    found = yahpo.answers(task, rows)
    if pair == PAIRS[1]:
        return np.column_stack([100.0 - found[:, 1], found[:, 2]])
    seconds = np.maximum(found[:, 0], 1e-3)
    return np.column_stack([100.0 - found[:, 1], np.log(seconds / rows[:, 0]) if pair == PAIRS[0] else seconds])


@cache
def _sampled(task: str, pair: str) -> Array:
    """Both values of random configurations at the last epoch. Shape (n, 2)."""
    rows = np.hstack([np.full((_SAMPLE, 1), yahpo.EPOCHS), yahpo.sampled(_SAMPLE)])
    return _answers(task, rows, pair)


@dataclass(frozen=True)
class Functions:
    """A function of Zitzler, Deb and Thiele, 2000, in five dimensions; "mixed" has a choice and an integer."""

    name: str

    @property
    def last(self) -> int:
        return 1

    @property
    def names(self) -> tuple[str, str]:
        return ("first", "second")

    @property
    def goals(self) -> dict[str, Any]:
        return {"objectives": {"first": "min", "second": "min"}}

    @property
    def space(self) -> Any:
        if self.name == "mixed":
            return ss.space(x0=(0.0, 1.0), x1=(0.0, 1.0), steps=(0, 10), kind=["a", "b", "c"])
        return ss.space(**{f"x{i}": (0.0, 1.0) for i in range(5)})

    def values(self, config: Mapping[str, Any], step: int) -> tuple[float, float]:
        first = float(config["x0"])
        if self.name == "mixed":
            rest = [float(config["x1"]), config["steps"] / 10, {"a": 0.0, "b": 0.3, "c": 0.6}[config["kind"]]]
        else:
            rest = [float(config[f"x{i}"]) for i in range(1, 5)]
        g = 1 + 9 * float(np.mean(rest))
        match self.name:
            case "zdt2":
                return first, g * (1 - (first / g) ** 2)
            case "zdt3":
                return first, g * (1 - np.sqrt(first / g) - first / g * np.sin(10 * np.pi * first))
        return first, g * (1 - np.sqrt(first / g))


def bounds_of(problem: Surrogate | Functions, reference: str) -> tuple[Array, Array]:
    """The ideal point and a reference point. Shapes (2,) and (2,)."""
    if isinstance(problem, Functions):
        ideal = np.array([0.0, -0.8 if problem.name == "zdt3" else 0.0])
        return ideal, np.array([1.1, 4.0 if reference == "wide" else 1.1])
    sampled = _sampled(problem.task, problem.pair)
    return sampled.min(axis=0), np.quantile(sampled, 0.75 if reference == "wide" else 0.25, axis=0)
