"""Trainings that fail in parts of the space, (d) of the user suite: 150 steps each.

Two trainings of a network with a known best loss of 0: ``narrow`` has five parameters and 15 steps, ``wide`` six and
30. The loss is a bowl in the encoded parameters, with a worse bottom for some choices, at the end of a power-law curve.
Early in training the bottom of the bowl is at a higher learning rate, so that a high rate looks good at first although
a moderate one is best.

=======================  =========================================================================================
raises at once           a box of 6 % of the space, next to the best place, raises in the first step
a choice raises at once  one of four choices raises in the first step
nan at once              a box of 8 % yields NaN in the first step
diverges                 the upper 30 % of the learning rates, where the early readings are best, raise from step 6 on
diverges to nan          the same, but yields NaN
a corner diverges        high rate and high momentum, 9 %, raise from step 6 on
=======================  =========================================================================================

As with real learning rates, the best place is next to where training fails: in all cases some configurations that
cannot fail have a loss below 0.002.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ConfigSpace import ConfigurationSpace

import shoestring as ss
from benchmarks.harness.play import Task
from shoestring.spaces.codec import Codec

STEPS = 150
LATE = 6
EARLY_SHIFT = 0.2  # of the best learning rate, encoded
Place = Mapping[str, float]


@dataclass(frozen=True)
class Landscape:
    """A bowl: where its bottom is (encoded), how steep it is by parameter, and what each activation adds."""

    space: ConfigurationSpace
    best: Mapping[str, float]
    steepness: Mapping[str, float]
    activations: Mapping[str, float]
    max_resource: int

    @cached_property
    def _codec(self) -> Codec:
        return Codec(self.space)

    def place(self, config: Mapping[str, Any]) -> Place:
        return dict(zip(self._codec.names, self._codec.encode(config).tolist(), strict=True))

    def loss(self, config: Mapping[str, Any], step: int) -> float:
        place, last = self.place(config), self.max_resource**-0.5
        left = (step**-0.5 - last) / (1 - last)
        return self._bowl(config, place, 0.0) + left * (1 + 2 * self._bowl(config, place, EARLY_SHIFT))

    def _bowl(self, config: Mapping[str, Any], place: Place, shift: float) -> float:
        gaps = {name: place[name] - best - shift * (name == "rate") for name, best in self.best.items()}
        return self.activations[config["activation"]] + sum(self.steepness[n] * gap**2 for n, gap in gaps.items())


ACTIVATIONS = {"relu": 0.0, "tanh": 0.1, "gelu": 0.05, "sigmoid": 0.4}
NARROW = Landscape(
    ss.space(
        rate=ss.log(1e-4, 1.0), momentum=(0.0, 1.0), decay=ss.log(1e-6, 1e-1), dropout=(0.0, 0.8),
        activation=list(ACTIVATIONS),
    ),
    best={"rate": 0.72, "momentum": 0.75, "decay": 0.4, "dropout": 0.3},
    steepness={"rate": 4.0, "momentum": 2.0, "decay": 1.0, "dropout": 1.0},
    activations=ACTIVATIONS,
    max_resource=15,
)  # fmt: skip
WIDE = Landscape(
    ss.space(
        rate=ss.log(1e-5, 0.3), momentum=(0.5, 0.999), layers=(1, 8), width=ss.log(16, 1024), dropout=(0.0, 0.5),
        activation=list(ACTIVATIONS),
    ),
    best={"rate": 0.65, "momentum": 0.65, "layers": 0.4375, "width": 0.75, "dropout": 0.5},
    steepness={"rate": 3.0, "momentum": 1.0, "layers": 1.5, "width": 2.0, "dropout": 0.5},
    activations={**ACTIVATIONS, "relu": 0.1, "gelu": 0.0},
    max_resource=30,
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """A part of the space where a training fails: from which step on, and how."""

    where: Callable[[Mapping[str, Any], Place], bool]
    step: int
    value: float | None = None  # it yields this; without one it raises


def _box(rate: float, momentum: float) -> Callable[[Mapping[str, Any], Place], bool]:
    return lambda config, place: place["rate"] > rate and place["momentum"] > momentum


FAILURES = {
    "raises at once": Failure(_box(0.7, 0.8), 1),
    "a choice raises at once": Failure(lambda config, place: config["activation"] == "tanh", 1),
    "nan at once": Failure(_box(0.8, 0.6), 1, math.nan),
    "diverges": Failure(_box(0.7, -1.0), LATE),
    "diverges to nan": Failure(_box(0.7, -1.0), LATE, math.nan),
    "a corner diverges": Failure(_box(0.7, 0.7), LATE),
}
AT_ONCE = [name for name, failure in FAILURES.items() if failure.step == 1]
MANY_DIVERGE = ["diverges", "diverges to nan"]


class Training:
    """An objective that fails in a part of its space."""

    def __init__(self, landscape: Landscape, failure: Failure) -> None:
        self._landscape, self._failure = landscape, failure

    def safe(self, config: Mapping[str, Any]) -> bool:
        return not self._failure.where(config, self._landscape.place(config))

    def __call__(self, trial: ss.Trial) -> Iterator[float]:
        safe = self.safe(trial.config)
        for step in range(trial.start + 1, self._landscape.max_resource + 1):
            if safe or step < self._failure.step:
                yield self._landscape.loss(trial.config, step)
            elif self._failure.value is None:
                raise FloatingPointError("the loss is not finite")
            else:
                yield self._failure.value


def failures() -> list[Task]:
    """Every failure on both landscapes; choices are made on the narrow ones and confirmed on the wide ones."""
    return [
        _task(f"{name}, {size}", landscape, failure)
        for name, failure in FAILURES.items()
        for size, landscape in (("narrow", NARROW), ("wide", WIDE))
    ]


def _task(name: str, landscape: Landscape, failure: Failure) -> Task:
    training = Training(landscape, failure)
    return Task(name, landscape.space, landscape.max_resource, training, regret=lambda value: value, safe=training.safe)
