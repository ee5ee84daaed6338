"""Hartmann's functions of 3 and 6 parameters at the end of learning curves that are smooth in the configuration.

The reading at step k of R lies between what the start follows and the value v at the end. Regrets are v less the best
value, and w falls from 1 at the first step to 0 at the last, w = (k^-r - R^-r)/(1 - R^-r) unless said otherwise:

===============  =================================================================================================
one rate         v + w (1 + regret), r = 0.7: the order is right from the first step on
smooth rates     (1 - w) v + w (1 + regret), r from 0.3 to 1.5 with the first parameter: curves cross, as slow learners
                 are behind early
shifted early    (1 - w) v + w (1 + regret at x + 0.1), r = 0.7: the best place moves during training
reversed early   (1 - w) v + w (1 + regret at 1 - x), w = (R - k)/(R - 1): what looks good early is another place
late             1 + (v - 1) (k/R)^a, a from 0.4 for the worst to 2 for the best: good configurations learn slowly
                 and are behind until more than a third of the training
===============  =================================================================================================

The last two mislead. No reading is below the value that its configuration ends with, so early readings cannot be
mistaken for a better result than there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import shoestring as ss
from benchmarks.harness.play import Task
from shoestring.problems import Synthetic

STEPS = 27
RATE, SLOWEST, FASTEST = 0.7, 0.3, 1.5
LATEST, EARLIEST = 2.0, 0.4
SHIFT = 0.1

Config = Mapping[str, Any]
Reading = Callable[[Synthetic, Config, int], float]


def _left(step: int, rate: float = RATE) -> float:
    end = math.pow(STEPS, -rate)
    return (math.pow(step, -rate) - end) / (1 - end)


def _mixed(function: Synthetic, config: Config, early: Config, left: float) -> float:
    return (1 - left) * function.value(config) + left * (1 + function.value(early) - function.best)


def one_rate(function: Synthetic, config: Config, step: int) -> float:
    value = function.value(config)
    return value + _left(step) * (1 + value - function.best)


def smooth_rates(function: Synthetic, config: Config, step: int) -> float:
    rate = SLOWEST + (FASTEST - SLOWEST) * float(config["x1"])
    return _mixed(function, config, config, _left(step, rate))


def shifted_early(function: Synthetic, config: Config, step: int) -> float:
    return _mixed(function, config, {name: x + SHIFT for name, x in config.items()}, _left(step))


def reversed_early(function: Synthetic, config: Config, step: int) -> float:
    return _mixed(function, config, {name: 1 - x for name, x in config.items()}, (STEPS - step) / (STEPS - 1))


def late(function: Synthetic, config: Config, step: int) -> float:
    value = function.value(config)
    slowness = (
        EARLIEST + (LATEST - EARLIEST) * value / function.best
    )  # the values of these functions are from best to 0
    return 1 + (value - 1) * (step / STEPS) ** slowness


HONEST: dict[str, Reading] = {"one rate": one_rate, "smooth rates": smooth_rates, "shifted early": shifted_early}
MISLEADING: dict[str, Reading] = {"reversed early": reversed_early, "late": late}


def smooth() -> list[Task]:
    """All forms in 3 and in 6 dimensions. The regret is in units of the function."""
    functions = {"hartmann 3": Synthetic("hartmann3"), "hartmann 6": Synthetic("hartmann6")}
    return [
        _task(f"{name}, {form}", function, reading)
        for form, reading in (HONEST | MISLEADING).items()
        for name, function in functions.items()
    ]


def _task(name: str, function: Synthetic, reading: Reading) -> Task:
    objective = partial(_train, function, reading)
    return Task(name, function.space, STEPS, objective, regret=lambda value: value - function.best)


def _train(function: Synthetic, reading: Reading, trial: ss.Trial) -> Iterator[float]:
    for step in range(trial.start + 1, STEPS + 1):
        yield reading(function, trial.config, step)
