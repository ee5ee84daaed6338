"""Real trainings that take a fraction of a second: (b) of the user suite.

Each is a task as a user would bring it: a space with ranges, logarithmic ranges, choices and conditions, and an
objective that trains one step, yields the validation value and gives the test value as a metric. They differ in what
makes tuning hard: validation sets of 150 to 300 rows, noise between seeds, early steps that say little, curves that
turn up again, learning rates at which training diverges, steps that cost more for some configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.harness.play import Task
from benchmarks.tasks import (
    trainings_arrays as arrays,
    trainings_control as control,
    trainings_estimators as estimators,
)

Training = Callable[[Mapping[str, Any], int], Iterator[ss.Reading]]


def objective(training: Training) -> Callable[[ss.Trial], Iterator[ss.Reading]]:
    """An objective that trains one configuration; a trial that is resumed without its generator trains again first."""

    def train(trial: ss.Trial) -> Iterator[ss.Reading]:
        readings, step = training(trial.config, trial.seed), 0
        while True:
            with np.errstate(all="ignore"):  # diverging is part of the tasks
                reading = next(readings)
            step += 1
            if step > trial.start:
                yield reading

    return train


def trainings() -> list[Task]:
    """All trainings. Choices are made on the even positions and confirmed on the odd ones, so neighbours are alike."""
    return [
        Task("network on digits", estimators.DIGITS, 20, objective(estimators.network_on_digits)),
        Task("network with dropout", arrays.DROPOUT, 24, objective(arrays.network_with_dropout)),
        Task("boosted trees", estimators.BOOSTING, 24, objective(estimators.boosted_trees)),
        Task("grown forest", estimators.FOREST, 27, objective(estimators.grown_forest)),
        Task("network on friedman", estimators.FRIEDMAN, 27, objective(estimators.network_on_friedman)),
        Task("random features", arrays.FOURIER, 27, objective(arrays.random_features)),
        Task("linear classifier", estimators.linear_space(), 16, objective(estimators.linear_classifier)),
        Task("wide logistic", arrays.WIDE, 24, objective(arrays.wide_logistic)),
        Task("chosen model", estimators.models_space(), 20, objective(estimators.chosen_model)),
        Task("recurrent network", arrays.recurrent_space(), 20, objective(arrays.recurrent_network)),
        Task("balanced pole", control.SPACE, 18, objective(control.balanced_pole), mode="max"),
        Task("factorised ratings", arrays.RATINGS, 27, objective(arrays.factorised_ratings)),
    ]
