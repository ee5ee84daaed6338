"""Syne Tune's schedulers that learn from past studies, with one worker. See ``pipe.py`` for what it speaks.

They are given the configurations of the past studies with their best errors so far, epoch by epoch; a training that was
stopped keeps its last one. ZeroShotTransfer trains to the end what it chooses; its surrogates are those of Syne Tune,
because past studies share no configurations.
"""

from __future__ import annotations

import logging
import warnings
from datetime import datetime
from typing import Any

import numpy as np
import pandas
import pipe
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import lograndint, loguniform, randint, uniform
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers import FIFOScheduler
from syne_tune.optimizer.schedulers.transfer_learning import RUSHScheduler, TransferLearningTaskEvaluations
from syne_tune.optimizer.schedulers.transfer_learning.zero_shot import ZeroShotTransfer

KINDS = {("int", True): lograndint, ("int", False): randint, ("float", True): loguniform, ("float", False): uniform}


def scheduler_of(given: dict[str, Any], space: dict[str, Any]) -> Any:
    past = {
        str(number): TransferLearningTaskEvaluations(
            space, pandas.DataFrame(study["configs"]), ["error"], np.array(study["errors"])[:, None, :, None]
        )
        for number, study in enumerate(given["past"])
    }
    if given["peer"] == "Syne Tune RUSH":
        return RUSHScheduler(
            space, past, metric="error", mode="min", resource_attr="epoch", max_t=given["epochs"],
            random_seed=given["seed"], search_options={"debug_log": False},
        )  # fmt: skip
    searcher = ZeroShotTransfer(space, "error", past, use_surrogates=True, random_seed=given["seed"])
    return FIFOScheduler(space, searcher=searcher, metric="error", mode="min", random_seed=given["seed"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    given = pipe.task()
    np.random.seed(given["seed"])
    space = {one["name"]: KINDS[one["kind"], one["log"]](one["low"], one["high"]) for one in given["space"]}
    scheduler = scheduler_of(given, space)
    number = 0
    while True:
        config = scheduler.suggest(number).config
        trial = Trial(number, config, datetime.now())
        scheduler.on_trial_add(trial)
        wanted = {name: config[name] for name in space}
        for epoch in range(1, given["epochs"] + 1):
            result = {"error": pipe.trained(wanted, epoch)[-1], "epoch": epoch}
            if epoch == given["epochs"]:
                scheduler.on_trial_complete(trial, result)
            elif scheduler.on_trial_result(trial, result) != SchedulerDecision.CONTINUE:
                scheduler.on_trial_remove(trial)
                break
        number += 1
