"""Trials in the pools of other libraries: they pause, go on from their checkpoints, and no step is run twice."""

from contextlib import contextmanager

import pytest

from shoestring.executors import Futures
from shoestring.testing import check_executor
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


@pytest.mark.parametrize("pool", [dask, loky], ids=lambda pool: pool.__name__)
@pytest.mark.filterwarnings("ignore")
def test_contract(pool, tmp_path):
    with pool(tmp_path) as opened:
        check_executor(Futures(opened, slots=2))
