"""Curves that cross by the learning rate: a large one learns fast and ends worse.

With L = log10 of the learning rate, the reading after a step is floor + (.9 - floor) exp(-speed step) + N(0, .004),

    floor = .03 + .02 (L + 2)² + .0025 (log10 weight_decay + 4)² + .0125 |log2 width - 7.5|
            + (.02 if adam and rate > .05)
    speed = .15 + .3 min(1, 10 rate)

What counts is the value without noise of the reading that ``study.best`` names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.comparison import compared, differences, loss, mean_rows
from benchmarks.harness.measurements import Row
from benchmarks.harness.play import Task
from benchmarks.suites.early_readings.ours import METHODS
from shoestring.core.randomness import generator

STEPS, NOISE = 27, 0.004
TRAININGS = (10, 40)
SEEDS = 20
PEERS = ("Optuna TPE + Hyperband", "Optuna TPE + SHA")
SPACE = ss.space(
    ss.when("momentum", optimizer="sgd"),
    learning_rate=ss.log(1e-4, 1.0), weight_decay=ss.log(1e-6, 1e-2), width=(32, 512), optimizer=["sgd", "adam"],
    momentum=(0.5, 0.99),
)  # fmt: skip


def value(config: Mapping[str, Any], step: int) -> float:
    """The reading without noise."""
    rate = float(config["learning_rate"])
    floor = 0.03 + 0.02 * (math.log10(rate) + 2) ** 2 + 0.0025 * (math.log10(config["weight_decay"]) + 4) ** 2
    floor += 0.0125 * abs(math.log2(config["width"]) - 7.5)
    floor += 0.02 if config["optimizer"] == "adam" and rate > 0.05 else 0.0
    speed = 0.15 + 0.3 * min(1.0, 10 * rate)
    return floor + (0.9 - floor) * math.exp(-speed * step)


def train(trial: ss.Trial) -> Iterator[ss.Reading]:
    for step in range(trial.start + 1, STEPS + 1):
        true = value(trial.config, step)
        yield ss.Reading(true + NOISE * float(generator(trial.seed, step, "crossing").standard_normal()), test=true)


def table(options: Options) -> list[Row]:
    """Curves that cross by the learning rate: the true value of the recommended reading, 10 and 40 trainings."""
    methods = ("random", "hyperband", "auto") if options.quick else (*METHODS, *PEERS)
    seeds, budgets = (3, TRAININGS[:1]) if options.quick else (max(options.seeds, SEEDS), TRAININGS)
    task, rows = Task("crossing by the learning rate", SPACE, STEPS, train), []
    for trainings in budgets:
        found = compared([task], methods, seeds, trainings)
        losses = {"value": found.array(loss("best_test"))}
        rows += mean_rows(found, losses, f"{trainings} trainings")
        rows += differences(found, losses, f"{trainings} trainings")
    return rows
