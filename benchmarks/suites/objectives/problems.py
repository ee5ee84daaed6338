"""YAHPO's surrogate of LCBench with several values of each configuration, and functions with a known front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
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
# And three: the balanced accuracy is a loss here, with its sign changed.
TRIPLE = "error, balanced accuracy and log seconds"
_SAMPLE = 20_000
# How many curves are kept in memory.
_CURVES = 4_000


@dataclass(frozen=True)
class Surrogate:
    """A task with two or three objectives, or with one and a bound that a ``share`` of random configurations keeps.

    ``kind`` is one of the pairs, the triple, or "seconds": the error and the seconds of the training.
    """

    task: str
    kind: str
    curve: bool = False
    share: float = 0.0

    @property
    def space(self) -> Any:
        return yahpo.SPACE

    @property
    def last(self) -> int:
        return yahpo.EPOCHS if self.curve else 1

    @property
    def names(self) -> tuple[str, ...]:
        return ("error", "second", "third") if self.kind == TRIPLE else ("error", "second")

    @property
    def goals(self) -> dict[str, Any]:
        if self.share:
            return {"objectives": {"error": "min"}, "constraints": {"second": f"<= {self.bound!r}"}}
        return {"objectives": dict.fromkeys(self.names, "min")}

    def values(self, config: Mapping[str, Any], step: int) -> tuple[float, ...]:
        epoch = step if self.curve else yahpo.EPOCHS
        found = _curve(self.task, self.kind, tuple(float(config[name]) for name in yahpo.ORDER))[epoch - 1]
        return tuple(found.tolist())

    @property
    def bound(self) -> float:
        return float(np.quantile(_sampled(self.task, self.kind)[:, 1], self.share))

    @property
    def scale(self) -> tuple[float, float, float]:
        """The best, the median and the worst error of feasible random configurations."""
        sampled = _sampled(self.task, self.kind)
        errors = sampled[sampled[:, 1] <= self.bound, 0]
        return float(errors.min()), float(np.median(errors)), float(errors.max())


@lru_cache(maxsize=_CURVES)
def _curve(task: str, kind: str, values: tuple[float, ...]) -> Array:
    """The values of a configuration after each epoch. Shape (epochs, k)."""
    epochs = np.arange(1, yahpo.EPOCHS + 1)[:, None]
    return _answers(task, np.hstack([epochs, np.tile(values, (yahpo.EPOCHS, 1))]), kind)


def _answers(task: str, rows: Array, kind: str) -> Array:
    """The values of a kind for rows of an epoch and the parameters. Shape (n, k).

    The surrogate extrapolates: to errors below 0, and to seconds far below those of any configuration that it was
    fitted to. An epoch has at least the seconds that the fastest random configuration needs.
    """
    found = yahpo.answers(task, rows)
    error, seconds = 100.0 - np.minimum(found[:, 1], 100.0), np.maximum(found[:, 0], 1e-3)
    if kind == "seconds":
        return np.column_stack([error, seconds])
    if kind == PAIRS[1]:
        return np.column_stack([error, np.maximum(found[:, 2], 0.0)])
    of_an_epoch = np.log(np.maximum(seconds / rows[:, 0], _least_seconds(task)))
    return np.column_stack(
        [error, -np.minimum(found[:, 3], 1.0), of_an_epoch] if kind == TRIPLE else [error, of_an_epoch]
    )


@cache
def _least_seconds(task: str) -> float:
    """Of an epoch, among random configurations."""
    return float(yahpo.answers(task, _random_rows())[:, 0].min()) / yahpo.EPOCHS


@cache
def _random_rows() -> Array:
    """Random configurations at the last epoch."""
    return np.hstack([np.full((_SAMPLE, 1), yahpo.EPOCHS), yahpo.sampled(_SAMPLE)])


@cache
def _sampled(task: str, kind: str) -> Array:
    """The values of random configurations at the last epoch. Shape (n, k)."""
    return _answers(task, _random_rows(), kind)


# The values of the choice of mixed spaces: its place in the sum that is 0 on the front.
_KINDS = {"a": 0.0, "b": 0.3, "c": 0.6}


@dataclass(frozen=True)
class Functions:
    """A function with a known front.

    "zdt1" to "zdt3" are of Zitzler, Deb and Thiele, 2000, in five dimensions, "dtlz2" is of Deb, Thiele, Laumanns and
    Zitzler, 2002, with three objectives in six. In "mixed" (ZDT1) and "mixed of three" (DTLZ2), the last parameters are
    an integer and a choice.
    """

    name: str

    @property
    def last(self) -> int:
        return 1

    @property
    def several(self) -> bool:
        return self.name in ("dtlz2", "mixed of three")

    @property
    def names(self) -> tuple[str, ...]:
        return ("first", "second", "third") if self.several else ("first", "second")

    @property
    def goals(self) -> dict[str, Any]:
        return {"objectives": dict.fromkeys(self.names, "min")}

    @property
    def space(self) -> Any:
        reals = 6 if self.several else 5
        if self.name.startswith("mixed"):
            reals, others = reals - 3, {"steps": (0, 10), "kind": list(_KINDS)}
            return ss.space(**{f"x{i}": (0.0, 1.0) for i in range(reals)}, **others)
        return ss.space(**{f"x{i}": (0.0, 1.0) for i in range(reals)})

    def values(self, config: Mapping[str, Any], step: int) -> tuple[float, ...]:
        x = [float(config[name]) for name in sorted(config) if name.startswith("x")]
        if self.name.startswith("mixed"):
            x += [config["steps"] / 10, _KINDS[config["kind"]]]
        return _dtlz2(x) if self.several else _zdt(self.name, x)


def _dtlz2(x: list[float]) -> tuple[float, ...]:
    """The distance to the front is from 0 in the last parameters, where the original has 1/2."""
    g = 1 + sum(each**2 for each in x[2:])
    a, b = (0.5 * np.pi * each for each in x[:2])
    return float(g * np.cos(a) * np.cos(b)), float(g * np.cos(a) * np.sin(b)), float(g * np.sin(a))


def _zdt(name: str, x: list[float]) -> tuple[float, float]:
    first, g = x[0], 1 + 9 * float(np.mean(x[1:]))
    match name:
        case "zdt2":
            return first, g * (1 - (first / g) ** 2)
        case "zdt3":
            return first, g * (1 - np.sqrt(first / g) - first / g * np.sin(10 * np.pi * first))
    return first, g * (1 - np.sqrt(first / g))


def bounds_of(problem: Surrogate | Functions, reference: str) -> tuple[Array, Array]:
    """The ideal point and a reference point. Shapes (k,) and (k,)."""
    if isinstance(problem, Surrogate):
        sampled = _sampled(problem.task, problem.kind)
        return sampled.min(axis=0), np.quantile(sampled, 0.75 if reference == "wide" else 0.25, axis=0)
    if problem.several:
        return np.zeros(3), np.full(3, 2.0 if reference == "wide" else 1.1)
    ideal = np.array([0.0, -0.8 if problem.name == "zdt3" else 0.0])
    return ideal, np.array([1.1, 4.0 if reference == "wide" else 1.1])
