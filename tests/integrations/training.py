"""Code that the tests of the frameworks share: a small problem, and a study that pauses and continues its trials."""

import numpy as np
import pytest

import shoestring as ss
from shoestring.schedulers import ASHA

NEED = "is not installed: make test-integrations installs it"


def needed(name):
    return pytest.importorskip(name, reason=f"{name} {NEED}")


def data():
    """Training and validation data of a problem that a small model can learn."""
    x = np.random.default_rng(0).normal(size=(120, 4)).astype("float32")
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype("float32")
    return (x[:80], y[:80]), (x[80:], y[80:])


def tuned(train, *, steps=24, **options):
    """A study that pauses its trials after 1 and 3 of 9 steps; it repeats none if they are continued."""
    space = {"lr": ss.log(1e-3, 0.5)}
    method = ss.compose(ss.samplers.Random(), ASHA())
    return ss.tune(train, space, budget=ss.Budget(steps=steps), max_resource=9, method=method, **options)


def check_continued(study, starts):
    """Trials were paused and continued from their checkpoints: no step was run twice."""
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.spent["steps"] == sum(trial.step for trial in study.trials)
    assert {0, 1, 3} <= set(starts)
    assert starts == [grant.start for grant in study.history.grants]
