"""HEBO in batches, spoken to by lines of JSON. It runs in an environment of its own and knows nothing of this project.

The first line is {"space": […], "seed": 0, "batch": 5}, with the space in HEBO's own format. Every answer is a list of
configurations; every further line is the list of their losses.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    task = json.loads(sys.stdin.readline())
    np.random.seed(task["seed"])
    torch.manual_seed(task["seed"])
    optimiser = HEBO(DesignSpace().parse(task["space"]), scramble_seed=task["seed"])
    while True:
        batch = optimiser.suggest(n_suggestions=task["batch"])
        print(batch.to_json(orient="records"), flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        optimiser.observe(batch, np.array(json.loads(line), float).reshape(-1, 1))
