"""SMAC3 on a pool of configurations. It runs in an environment of its own and knows nothing of this project.

    echo '[{"X": [[…], …], "losses": […], "trainings": 10, "seed": 0}, …]' | python smac_pool.py

Prints for each the rows of X in the order in which SMAC trains them. The surrogate (random forest), the acquisition
(expected improvement of the log loss), the number of first configurations and the share of random ones are SMAC's own.
Differs from its defaults in that candidates are the rows of the pool, and that the model is fitted after every
training, not after every eighth.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, Float
from smac import HyperparameterOptimizationFacade as Facade, Scenario
from smac.acquisition.maximizer.abstract_acquisition_maximizer import AbstractAcquisitionMaximizer
from smac.initial_design.default_design import DefaultInitialDesign
from smac.runhistory.dataclasses import TrialValue

RANDOM_SHARE = 0.2


class Pool(AbstractAcquisitionMaximizer):
    """Ranks the rows that were not tried yet; one choice in five is random."""

    rows: list[Configuration]

    def _maximize(self, previous_configs: list[Configuration], n_points: int) -> list[tuple[float, Configuration]]:
        tried = set(previous_configs)
        left = [row for row in self.rows if row not in tried]
        by_chance = self._rng.rand() < RANDOM_SHARE
        scores = self._rng.rand(len(left)) if by_chance else self._acquisition_function(left).ravel()
        return sorted(zip(scores.tolist(), left, strict=True), key=lambda pair: -pair[0])


class FirstRows(DefaultInitialDesign):
    """The configurations that the search starts with."""

    first: list[Configuration]

    def _select_configurations(self) -> list[Configuration]:
        return self.first


def order(X: list[list[float]], losses: list[float], trainings: int, seed: int) -> list[int]:
    """The rows in the order in which they are trained."""
    columns = [column for column in np.array(X, float).T if column.max() > column.min()]
    scaled = np.array([(column - column.min()) / (column.max() - column.min()) for column in columns]).T
    names = [f"x{i}" for i in range(len(columns))]
    space = ConfigurationSpace(seed=seed)
    space.add([Float(name, (0.0, 1.0)) for name in names])
    rows = [Configuration(space, dict(zip(names, map(float, row), strict=True))) for row in scaled]
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(space, deterministic=True, n_trials=trainings, seed=seed, output_directory=folder)
        pool = Pool(space, seed=seed)
        pool.rows = rows
        design = FirstRows(scenario, n_configs=1)
        rng = np.random.default_rng(seed)
        design.first = [rows[i] for i in rng.choice(len(rows), 2, replace=False)]
        smac: Any = Facade(
            scenario, lambda config, seed=0: 0.0, initial_design=design, acquisition_maximizer=pool,
            random_design=Facade.get_random_design(scenario, probability=0.0),
            config_selector=Facade.get_config_selector(scenario, retrain_after=1), logging_level=False, overwrite=True,
        )  # fmt: skip
        places, found = {row: i for i, row in reversed(list(enumerate(rows)))}, []
        for _ in range(trainings):
            asked = smac.ask()
            found.append(places[asked.config])
            smac.tell(asked, TrialValue(cost=losses[found[-1]]))
    return found


if __name__ == "__main__":
    print(json.dumps([order(**task) for task in json.load(sys.stdin)]))
