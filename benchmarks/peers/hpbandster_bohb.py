"""HpBandSter's BOHB with one worker: its own model and its own brackets, without the server that joins its workers.

Budgets are whole epochs, rounded down as in the library's examples. See ``pipe.py`` for what it speaks.
"""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace

import ConfigSpace.hyperparameters as parameters
import numpy as np
import pipe
from ConfigSpace import ConfigurationSpace
from hpbandster.core.dispatcher import Job
from hpbandster.optimizers.bohb import BOHB
from hpbandster.optimizers.config_generators import bohb as models

ETA = 3

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    given = pipe.task()
    np.random.seed(given["seed"])
    space = ConfigurationSpace(seed=given["seed"])
    for one in given["space"]:
        kind = (
            parameters.UniformIntegerHyperparameter if one["kind"] == "int" else parameters.UniformFloatHyperparameter
        )
        space.add_hyperparameter(kind(one["name"], one["low"], one["high"], log=one["log"]))
    rungs = int(np.log(given["epochs"]) / np.log(ETA)) + 1
    budgets = given["epochs"] * np.power(float(ETA), -np.linspace(rungs - 1, 0, rungs))
    model = models.BOHB(space)
    # What the optimiser's method for the next bracket reads of it; its constructor would start the server.
    optimiser = SimpleNamespace(max_SH_iter=rungs, eta=ETA, budgets=budgets, config_generator=model)
    bracket = 0
    while True:
        iteration = BOHB.get_next_iteration(optimiser, bracket, {"result_logger": None})
        while (run := iteration.get_next_run()) is not None:
            name, config, budget = run
            job = Job(name, config=config, budget=budget)
            job.result = {"loss": pipe.trained(dict(config), int(budget + 1e-9))[-1], "info": {}}
            job.exception = None
            iteration.register_result(job)
            model.new_result(job)
        bracket += 1
