"""A module that takes longer to import than a trial may run."""

import time

time.sleep(2.0)


def sometimes_hanging(trial):
    yield trial.config["x"]
    if trial.config["x"] < 0.5:
        time.sleep(1000)
    yield trial.config["x"] / 2
