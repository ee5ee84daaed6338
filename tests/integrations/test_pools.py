"""Trials in the pools of other libraries: they pause, go on from their checkpoints, and no step is run twice."""

import time
from contextlib import contextmanager

import pytest

import shoestring as ss
from shoestring.executors import Futures
from shoestring.testing import check_executor
from tests.executors.test_futures import dies_once
from tests.integrations.training import needed, tuned


@contextmanager
def dask(folder):
    distributed = needed("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "local_directory": folder}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


@contextmanager
def loky(folder):
    yield needed("loky").get_reusable_executor(2)


@contextmanager
def submitit(folder):
    executor = needed("submitit").AutoExecutor(folder=folder / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    yield executor


def train(trial):
    file = trial.directory / "error"
    error = float(file.read_text()) if trial.start else 1.0
    while True:
        error *= 1 - trial.config["lr"] / 2
        file.write_text(repr(error))
        yield error


@pytest.mark.parametrize("pool", [dask, loky, submitit], ids=lambda pool: pool.__name__)
@pytest.mark.filterwarnings("ignore")  # those of the other library
def test_trials_pause_and_go_on_in_the_pool(pool, tmp_path):
    with pool(tmp_path) as opened:
        study = tuned(train, steps=18, storage=tmp_path / "study.db", executor=Futures(opened, slots=2))
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.spent["steps"] == 18 == sum(trial.step for trial in study.trials)
    assert any(grant.start for grant in study.history.grants)
    assert study.verify().ok


@pytest.mark.parametrize("pool", [dask, submitit], ids=lambda pool: pool.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_trial_whose_worker_is_killed_is_tried_again_and_charged(pool, tmp_path):
    with pool(tmp_path) as opened:
        options = {"storage": tmp_path / "study.db", "executor": Futures(opened, slots=1), "max_resource": 3}
        study = ss.tune(dies_once, {"x": (0.0, 1.0)}, budget="7 steps", method="random", **options)
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.trials[0].step == 3
    assert study.spent["steps"] == 7 == 1 + sum(trial.step for trial in study.trials)


def slow_if_small(trial):
    for step in range(trial.start + 1, 4):
        time.sleep(3 if trial.config["x"] < 0.5 else 0)
        (trial.directory / "step").write_text(str(step))
        yield trial.config["x"] + 1 / step


@pytest.mark.parametrize("pool", [dask, loky, submitit], ids=lambda pool: pool.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_step_that_takes_too_long_ends_its_trial_alone(pool, tmp_path):
    with pool(tmp_path) as opened:
        options = {"executor": Futures(opened, slots=2), "max_resource": 3, "initial": [{"x": 0.1}, {"x": 0.9}]}
        study = ss.tune(
            slow_if_small, {"x": (0.0, 1.0)}, budget="4 steps", method="random", step_timeout=1.0, progress=False,
            storage=tmp_path / "study.db", **options,
        )  # fmt: skip
    assert study.trials[0].state == "failed"
    assert "took longer than step_timeout" in study.trials[0].message
    assert study.trials[1].state == "finished"
    assert study.spent["steps"] == 4


@pytest.mark.parametrize("pool", [dask, loky], ids=lambda pool: pool.__name__)
@pytest.mark.filterwarnings("ignore")
def test_contract(pool, tmp_path):
    with pool(tmp_path) as opened:
        check_executor(Futures(opened, slots=2))
