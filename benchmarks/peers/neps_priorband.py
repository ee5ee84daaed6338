"""NePS's PriorBand with one worker and a guess, asked for each decision. See ``pipe.py`` for what it speaks.

The guess is the centre of its prior, with the medium confidence. As in the experiments of its authors, the guess itself
is trained to the end first.
"""

from __future__ import annotations

import logging
import warnings

import neps
import numpy as np
import pipe
import torch
from neps.optimizers.algorithms import priorband

KINDS = {"int": neps.HPOInteger, "float": neps.HPOFloat}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    given = pipe.task()
    np.random.seed(given["seed"])
    torch.manual_seed(given["seed"])
    space = {
        one["name"]: KINDS[one["kind"]](
            one["low"], one["high"], log=one["log"], prior=given["guess"][one["name"]], prior_confidence="medium"
        )
        for one in given["space"]
    }
    space["epoch"] = neps.HPOInteger(1, given["epochs"], is_fidelity=True)
    optimizer = neps.AskAndTell(priorband(neps.SearchSpace(space), sample_prior_first="highest_fidelity"))
    while True:
        trial = optimizer.ask()
        wanted = {name: trial.config[name] for name in space if name != "epoch"}
        optimizer.tell(trial, float(pipe.trained(wanted, int(trial.config["epoch"]))[-1]))
