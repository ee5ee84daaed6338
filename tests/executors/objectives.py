"""Objectives that worker processes can load."""

import os
import time


def hanging(trial):
    yield 1.0
    if trial.config["x"] < 0.5:
        time.sleep(1000)
    yield 0.5


def dying(trial):
    yield trial.config["x"]
    if trial.config["x"] < 0.5:
        os._exit(3)
    yield trial.config["x"] / 2


def slow(trial):
    while True:
        time.sleep(0.05)
        yield trial.config["x"]


def stuck(trial):
    yield 1.0
    time.sleep(1000)


def unpicklable_reading(trial):
    yield Awkward(trial.config["x"])


class Awkward:
    def __init__(self, value):
        self.value = value
        self.way_back = lambda: value  # which cannot be pickled

    def __float__(self):
        return self.value


def silent(trial):
    return
    yield


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("not even this")

    __repr__ = __str__


def awful(trial):
    x = trial.config["x"]
    if x < 0.2:
        yield 10**400
    if x < 0.4:
        yield Unspeakable()
    if x < 0.6:
        raise Unspeakable
    if x < 0.8:
        raise ValueError("very long " * 10_000)
    yield x
    yield x


def failing_at_the_third_step(trial):
    for step in (1, 2, 3):
        (trial.directory / "step").write_text(str(step))
        if step == 3 and trial.config["ending"] == "raises":
            raise RuntimeError("at the third step")
        yield float("nan") if step == 3 else 1 / step
