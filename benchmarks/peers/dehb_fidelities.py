"""DEHB, asked for each run. Budgets are whole epochs, rounded down. See ``pipe.py`` for what it speaks."""

from __future__ import annotations

import tempfile
import warnings

import pipe
from ConfigSpace import ConfigurationSpace, Float, Integer
from dehb import DEHB

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = pipe.task()
    space = ConfigurationSpace(seed=given["seed"])
    for one in given["space"]:
        kind = Integer if one["kind"] == "int" else Float
        space.add(kind(one["name"], (one["low"], one["high"]), log=one["log"]))
    with tempfile.TemporaryDirectory() as folder:
        optimiser = DEHB(
            f=None, cs=space, min_fidelity=1, max_fidelity=given["epochs"], eta=3, n_workers=1, seed=given["seed"],
            output_path=folder, log_level="ERROR",
        )  # fmt: skip
        while True:
            job = optimiser.ask()
            readings = pipe.trained(dict(job["config"]), max(1, int(job["fidelity"] + 1e-9)))
            optimiser.tell(job, {"fitness": readings[-1], "cost": float(len(readings))})
