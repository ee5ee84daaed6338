"""Trials in a pool that the caller made: the contract, lost workers, and what the workers cannot see."""

import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import shoestring as ss
from shoestring.core.workers import ticks
from shoestring.errors import MethodError, ObjectiveError, StorageError
from shoestring.executors import Futures, futures_worker
from shoestring.executors.futures_worker import Letters, run_grant
from shoestring.executors.threads import pool_threads
from shoestring.executors.worker_process import setup_for
from shoestring.objectives.job import Job, Report
from shoestring.testing import check_executor

SPACE = {"x": (0.0, 1.0)}


def processes(count):
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def test_contract_in_processes():
    with processes(2) as pool:
        check_executor(Futures(pool, slots=2))


def test_contract_in_threads():
    with ThreadPoolExecutor(3) as pool:
        check_executor(Futures(pool, slots=3))


def test_nothing_is_left_of_the_folder_of_a_run(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        options = {"storage": tmp_path / "study.db", "executor": Futures(pool, 2)}
        ss.tune(lambda trial: trial.config["x"], SPACE, budget="6 evaluations", method="random", **options)
    assert not list(tmp_path.rglob("futures-*"))


class Restarting:
    """A pool of one process, and another one when that has died, as loky's."""

    def __init__(self):
        self.pool, self.broken = processes(1), 0

    def submit(self, *call):
        try:
            return self.pool.submit(*call)
        except RuntimeError:
            self.pool, self.broken = processes(1), self.broken + 1
            return self.pool.submit(*call)


def dies_once(trial):
    (trial.directory / "steps").write_text(str(trial.start))
    for step in range(trial.start + 1, 4):
        mark = trial.directory.parents[2] / "died"
        if step == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (trial.directory / "steps").write_text(str(step))
        yield trial.config["x"] + 1 / step


def test_a_trial_whose_worker_dies_is_tried_again_and_charged(tmp_path):
    pool = Restarting()
    options = {"storage": tmp_path / "study.db", "executor": Futures(pool, 1), "max_resource": 3}
    study = ss.tune(dies_once, SPACE, budget="10 steps", method="random", **options)
    pool.pool.shutdown()
    assert pool.broken == 1
    assert study.trials[0].step == 3
    assert study.spent["steps"] == 10 == 1 + sum(trial.step for trial in study.trials)


def test_a_broken_pool_ends_the_run_and_says_so():
    with processes(1) as pool:
        executor = Futures(pool, 1)
        with pytest.raises(MethodError, match="the pool takes no more calls"):
            ss.tune(
                lambda trial: os.kill(os.getpid(), signal.SIGKILL), SPACE, budget="4 evaluations", executor=executor
            )


class Elsewhere:
    """A pool whose workers see no file of this host."""

    def submit(self, function, setup, job, folder, *rest):
        future = Future()
        future.set_result(function(setup, job, folder.parent / "not here", *rest))
        return future


def test_workers_that_do_not_see_the_files_end_the_run_with_what_to_do():
    with pytest.raises(ObjectiveError, match="use a storage on a file system that all workers share"):
        ss.tune(lambda trial: 1.0, SPACE, budget="4 evaluations", executor=Futures(Elsewhere(), 1))


def test_what_is_not_a_pool_is_refused():
    with pytest.raises(MethodError, match="it must have submit"):
        Futures(3, slots=1)
    with pytest.raises(MethodError, match="slots"):
        Futures(ThreadPoolExecutor(1), slots=0)


def job_of(**changes):
    return Job(trial=0, arm=0, replicate=0, config={"x": 0.5}, seed=0, start=0, until=3, known=0, most=3)._replace(
        **changes
    )


def endless(trial):
    while True:
        yield trial.config["x"]


@pytest.fixture
def call(tmp_path):
    """Make the arguments of a worker: the setup of a session whose process is gone, a job, and a folder for letters."""
    import hashlib
    from dataclasses import replace

    setup = setup_for(endless, tmp_path / "files", threads={})
    folder = tmp_path / "futures" / "0-0"
    folder.mkdir(parents=True)
    (folder.parent / "objective").write_bytes(setup.objective)
    Letters(folder.parent).write("alive", 1)
    threads = pool_threads(None, 1)
    return replace(setup, objective=hashlib.sha256(setup.objective).digest()), job_of(), folder, threads


def test_a_call_ends_when_the_study_is_silent(call, monkeypatch):
    monkeypatch.setattr(futures_worker, "_SILENCE", 0.05)
    assert run_grant(*call) == ""
    assert Letters(call[2]).read_report(1).reading.value == 0.5
    assert Letters(call[2]).read_report(2) is None


def test_a_call_ends_at_the_next_step_when_its_trial_is_stopped(call):
    began = ticks()
    Letters(call[2]).write("stop", True)
    run_grant(*call)
    assert ticks() - began < futures_worker._SILENCE
    assert Letters(call[2]).read_report(2) is None


def test_a_call_that_the_pool_starts_again_is_lost(call):
    Letters(call[2]).write("stop", True)
    run_grant(*call)
    with pytest.raises(StorageError, match="started the call again"):
        run_grant(*call)


def test_an_objective_that_was_exchanged_is_not_loaded(call):
    futures_worker._LOADED.clear()
    (call[2].parent / "objective").write_bytes(b"something else")
    assert "is not the file that the study has written" in run_grant(*call)


def test_reports_survive_the_folder(tmp_path):
    letters = Letters(tmp_path)
    report = Report(3, 7, "reading", ss.Reading(0.1, low=0.0, high=1.0, cost=2.0, accuracy=0.9), "", 1.5, held=False)
    letters.write_report(report)
    assert letters.read_report(7) == report
    assert letters.read_report(8) is None
