"""SMAC3's multi-fidelity facade (Hyperband with a random forest), asked for each run. See ``pipe.py``.

Budgets are whole epochs, rounded up as in the library's example.
"""

from __future__ import annotations

import math
import tempfile
import warnings

import pipe
from ConfigSpace import ConfigurationSpace, Float, Integer
from smac import MultiFidelityFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

# More runs than the budget can pay for, and as many first configurations as in the library's example.
RUNS, FIRST = 5000, 5

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = pipe.task()
    space = ConfigurationSpace(seed=given["seed"])
    for one in given["space"]:
        kind = Integer if one["kind"] == "int" else Float
        space.add(kind(one["name"], (one["low"], one["high"]), log=one["log"]))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=RUNS, min_budget=1, max_budget=given["epochs"], seed=given["seed"],
            output_directory=folder,
        )  # fmt: skip
        smac = MultiFidelityFacade(
            scenario, lambda config, seed=0, budget=0: 0.0, logging_level=False, overwrite=True,
            initial_design=MultiFidelityFacade.get_initial_design(scenario, n_configs=FIRST),
            intensifier=MultiFidelityFacade.get_intensifier(scenario, eta=3),
        )  # fmt: skip
        while True:
            asked = smac.ask()
            readings = pipe.trained(dict(asked.config), math.ceil(asked.budget - 1e-9))
            smac.tell(asked, TrialValue(cost=readings[-1]))
