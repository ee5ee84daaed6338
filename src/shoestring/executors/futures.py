"""Trials on any ``concurrent.futures.Executor``: a pool of processes, loky, Dask, Slurm through submitit, MPI.

One grant is one call in the pool. Such a pool has no way to talk to a call that is running, so the two sides use a
folder of the study's files, which all workers must see. The call (``futures_worker.py``) writes a report after each
step and waits until this process has acknowledged it, which it does when the reading is in the log. A call that is not
acknowledged for a minute ends itself, so the workers of a study whose process was killed do not train on.
"""

from __future__ import annotations

import hashlib
import shutil
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoestring.core.options import check_whole
from shoestring.core.workers import ticks
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.futures_worker import Letters, run_grant
from shoestring.executors.threads import PoolThreads, pool_threads
from shoestring.executors.worker_process import setup_for
from shoestring.objectives.checks import is_stateless
from shoestring.objectives.disk import own_files
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial_files import files_of

# Seconds between two looks at the folder while nothing comes, at first and at most.
_SHORTEST, _LONGEST = 0.002, 0.05
# Seconds that a step has to end after its trial was cancelled; a call in a pool cannot be interrupted.
_ENDING = 30.0


@dataclass(frozen=True, eq=False)
class Futures:
    """Run ``slots`` trials at once in a pool with ``submit``, such as the pools of ``concurrent.futures``.

    The pool is yours: it is not shut down. Its workers must see the folder of the study's files, so use a storage on
    a shared file system if they are on other hosts. A trial is held in memory while its grant runs and resumes from its
    checkpoint afterwards; without one it starts over and pays for the steps again.

    Each worker process computes with ``threads`` threads. By default workers on this host have a share of its cores,
    unless OMP_NUM_THREADS is set there, and others are not limited.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import shoestring as ss
    >>> with ThreadPoolExecutor(2) as pool:
    ...     executor = ss.executors.Futures(pool, slots=2)
    ...     options = {"budget": "8 evaluations", "executor": executor}
    ...     study = ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, **options)
    >>> len(study.trials)
    8
    """

    pool: Any
    slots: int
    threads: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, slots=1, threads=1)
        if not callable(getattr(self.pool, "submit", None)):
            raise MethodError(
                f"pool is {self.pool!r}; it must have submit, such as concurrent.futures.ProcessPoolExecutor(4), "
                "client.get_executor() of Dask, or submitit.AutoExecutor(folder)"
            )

    def open(self, objective: Any, directory: Path) -> FuturesSession:
        threads = pool_threads(self.threads, self.slots)
        return FuturesSession(self.pool, self.slots, objective, directory.resolve(), threads)


@dataclass(eq=False)
class _Call:
    """A grant in the pool: the step that it runs next, and since when, if that is known."""

    job: Job
    slot: int
    future: Any
    letters: Letters
    began: float | None = None
    unacknowledged: int | None = None  # a step whose reading is on its way into the log


class FuturesSession:
    resubmits_running = False
    now = staticmethod(ticks)

    def __init__(self, pool: Any, slots: int, objective: Any, directory: Path, threads: PoolThreads) -> None:
        self.slots = slots
        self._pool = pool
        self._threads = threads
        self._directory = directory
        self._stateless = is_stateless(objective)
        self._calls: dict[int, _Call] = {}
        setup = setup_for(objective, directory, threads={})  # a worker that runs already is limited by _threads
        # A large objective is written once, and each call is told its digest.
        self._setup = replace(setup, objective=hashlib.sha256(setup.objective).digest())
        self._folder = directory / f"futures-{uuid.uuid4().hex}"
        with own_files("the folder for the workers of a pool cannot be written"):
            self._folder.mkdir(parents=True)
            (self._folder / "objective").write_bytes(setup.objective)
        self._sign = 0
        self._say_alive()

    def _say_alive(self) -> None:
        """Change a file that the calls compare, so that they notice when this process has died."""
        self._sign += 1
        Letters(self._folder).write("alive", self._sign)

    def resume_from(self, trial: int, step: int) -> int:
        return step if self._stateless else files_of(self._directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        used = {call.slot for call in self._calls.values()}
        slot = next(number for number in range(self.slots) if number not in used)
        letters = Letters(self._folder / f"{job.trial}-{job.order}")
        letters.folder.mkdir()
        try:
            future = self._pool.submit(run_grant, replace(self._setup, worker=slot), job, letters.folder, self._threads)
        except Exception as error:
            raise MethodError(f"the pool takes no more calls: {error or type(error).__name__}") from error
        self._calls[job.trial] = _Call(job, slot, future, letters)

    def began(self, trial: int) -> float | None:
        call = self._calls.get(trial)
        return None if call is None else call.began

    def collect(self, until: float | None) -> list[Report]:
        for call in self._calls.values():  # the reports of the last call are in the log by now
            if call.unacknowledged is not None:
                call.letters.write(f"logged-{call.unacknowledged}", True)
                call.unacknowledged, call.began = None, ticks()
        pause = _SHORTEST
        while True:
            self._say_alive()
            reports = [report for call in list(self._calls.values()) for report in self._look(call)]
            if reports or not self._calls or (until is not None and ticks() >= until):
                return reports
            time.sleep(pause if until is None else max(min(pause, until - ticks()), 0))
            pause = min(2 * pause, _LONGEST)

    def _look(self, call: _Call) -> list[Report]:
        ended = call.future.done()  # asked before the letter is: a call that has ended has written all of them
        if call.began is None and call.letters.read("began") is not None:
            call.began = ticks()
        report = call.letters.read_report(call.job.known + 1)
        if report is None:
            return self._report_lost(call) if ended else []
        call.began = None
        if report.completes(call.job):
            self._forget(call)
        else:
            call.job = call.job._replace(start=report.step, known=report.step)
            call.unacknowledged = report.step
        return [report]

    def _report_lost(self, call: _Call) -> list[Report]:
        """A call that ended without a report: its worker died, or it could not load the objective."""
        self._forget(call)
        try:
            problem = call.future.result()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            message = f"its worker has died: {str(error).strip().splitlines()[-1] if str(error).strip() else error!r}"
            return [Report(call.job.trial, call.job.known + 1, "lost", message=message[:500])]
        raise ObjectiveError(f"a worker of the pool {problem}")

    def _forget(self, call: _Call) -> None:
        del self._calls[call.job.trial]
        shutil.rmtree(call.letters.folder, ignore_errors=True)

    def cancel(self, trial: int) -> None:
        call = self._calls.get(trial)
        if call is None:
            return
        call.letters.write("stop", True)
        call.future.cancel()
        self._await_end([call])
        self._forget(call)

    def _await_end(self, calls: list[_Call]) -> None:
        until = ticks() + _ENDING
        while ticks() < until and not all(call.future.done() for call in calls):
            time.sleep(_LONGEST)

    def close(self) -> None:
        calls = list(self._calls.values())
        for call in calls:
            with suppress(OSError):
                call.letters.write("stop", True)
            call.future.cancel()
        self._await_end(calls)
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # it is not empty
            self._directory.rmdir()
