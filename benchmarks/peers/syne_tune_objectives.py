"""Syne Tune's MOASHA with one worker, asked for each decision. See ``pipe.py`` for what it speaks."""

from __future__ import annotations

import logging
import warnings
from datetime import datetime

import numpy as np
import pipe
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import lograndint, loguniform, randint, uniform
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA

KINDS = {("int", True): lograndint, ("int", False): randint, ("float", True): loguniform, ("float", False): uniform}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    given = pipe.task()
    np.random.seed(given["seed"])
    space = {one["name"]: KINDS[one["kind"], one["log"]](one["low"], one["high"]) for one in given["space"]}
    scheduler = MOASHA(space, given["metrics"], time_attr="epoch", max_t=given["epochs"])
    number = 0
    while True:
        config = scheduler.suggest(number).config
        trial = Trial(number, config, datetime.now())
        scheduler.on_trial_add(trial)
        wanted = {name: config[name] for name in space}
        for epoch in range(1, given["epochs"] + 1):
            values = pipe.trained(wanted, epoch)
            result = {"epoch": epoch, **dict(zip(given["metrics"], values, strict=True))}
            if scheduler.on_trial_result(trial, result) != SchedulerDecision.CONTINUE:
                scheduler.on_trial_remove(trial)
                break
        number += 1
