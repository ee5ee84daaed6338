"""Workers of one host share its cores, and can be set up before their first trial."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import joblib
import pytest
from threadpoolctl import threadpool_info

import shoestring as ss
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors import Futures, Processes, Ray, threads
from shoestring.executors.threads import VARIABLES, pool_threads, thread_variables

SPACE = {"x": (0.0, 1.0)}
READY = []


def threads_of_this_process(trial):
    """Return the thread counts of the environment and of the loaded BLAS."""
    blas = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    return ss.Reading(trial.config["x"], blas=blas, **{name: int(os.environ.get(name, -1)) for name in VARIABLES})


def measured(**options):
    study = ss.tune(threads_of_this_process, SPACE, budget="2 evaluations", method="random", **options)
    return [dict(trial.readings[1].metrics) for trial in study.trials]


@pytest.fixture(autouse=True)
def _no_limit_of_the_machine(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("cores", "workers", "share"), [(8, 2, 4), (5, 2, 2), (2, 4, 1)])
def test_each_worker_has_its_share_of_the_cores(monkeypatch, cores, workers, share):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    for found in measured(workers=workers):
        assert {name: found[name] for name in VARIABLES} == dict.fromkeys(VARIABLES, share)


def test_libraries_are_loaded_with_it(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    assert [found["blas"] for found in measured(workers=2)] == [1, 1]


@pytest.mark.parametrize(
    "options", [{"workers": 2, "threads": 1}, {"threads": 1}, {"executor": Processes(2, threads=1)}]
)
def test_the_option_says_otherwise(monkeypatch, options):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
    assert [(found["blas"], found["OMP_NUM_THREADS"]) for found in measured(**options)] == [(1, 1)] * 2


def test_so_does_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("MKL_NUM_THREADS", "2")
    for found in measured(workers=2):
        assert (found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"], found["MKL_NUM_THREADS"]) == (3, 3, 2)


def test_a_worker_that_is_running_already_is_limited_too():
    program = (
        "import json, numpy, os; from threadpoolctl import threadpool_info;"
        "from shoestring.executors.threads import limit_threads, thread_variables;"
        "limit_threads(thread_variables(1, 8));"
        "print(json.dumps([max(p['num_threads'] for p in threadpool_info()), os.environ['MKL_NUM_THREADS']]))"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(found.stdout) == [1, "1"]


@pytest.mark.parametrize(
    ("ray", "limit"),
    [
        (Ray(), "1"),
        (Ray(resources={"CPU": 3}), "3"),
        (Ray(resources={"GPU": 1}), "1"),
        (Ray(resources={"CPU": 3}, threads=2), "2"),
        (Ray(runtime_env={"env_vars": {"OMP_NUM_THREADS": "5"}}), "5"),
    ],
)
def test_an_actor_of_ray_has_as_many_as_cpus(monkeypatch, ray, limit):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert ray._thread_variables()["OMP_NUM_THREADS"] == limit


def in_a_pool(**options):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = measured(executor=Futures(pool, slots=2, **options))
    return [(one["blas"], one["OMP_NUM_THREADS"], one["MKL_NUM_THREADS"]) for one in found]


def test_the_workers_of_a_pool_on_this_host_have_their_share_too(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    assert in_a_pool() == [(1, 1, 1)] * 2
    assert in_a_pool(threads=2) == [(2, 2, 2)] * 2
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    assert in_a_pool() == [(1, 1, 3)] * 2


def test_a_pool_of_threads_leaves_this_process_as_it_is(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    with ThreadPoolExecutor(2) as pool:
        assert [found["OMP_NUM_THREADS"] for found in measured(executor=Futures(pool, slots=2))] == [-1, -1]


@pytest.mark.parametrize(("given", "applied"), [(None, []), (2, [(2, 4)])])
def test_a_worker_of_a_pool_on_another_host_has_what_is_given(monkeypatch, given, applied):
    limited = []
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.setattr(threads, "_limit_once", lambda *limit: limited.append(limit))
    replace(pool_threads(given, 2), place="elsewhere").limit()
    assert limited == applied


def test_several_levels_of_openmp_are_left_as_they_are(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert thread_variables(None, 1)["OMP_NUM_THREADS"] == "4,2"


def prepare():
    READY.append(os.getpid())


def prepared(trial):
    assert [os.getpid()] == READY
    return trial.config["x"]


@pytest.mark.parametrize("workers", [1, 2])
def test_init_is_called_once_in_each_worker(workers):
    study = ss.tune(prepared, SPACE, budget="6 evaluations", method="random", workers=workers, init=prepare)
    assert [trial.message for trial in study.trials] == [""] * 6
    assert READY == [], "it is called in the workers alone"


def test_an_init_that_raises_ends_the_run_before_anything_is_spent():
    def broken():
        raise RuntimeError("no such device")

    study = ss.Study(SPACE, budget="2 evaluations", method="random")
    with pytest.raises(ObjectiveError, match="no such device"):
        study.run(prepared, init=broken)
    assert not study.trials


@pytest.mark.parametrize(
    "options", [{"init": 3}, {"threads": 0}, {"threads": 1.5}, {"executor": Processes(2), "threads": 1}]
)
def test_what_cannot_be_is_refused(options):
    with pytest.raises(MethodError, match=r"init|threads"):
        ss.tune(prepared, SPACE, budget="2 evaluations", method="random", **options)
