"""Trials in spawned processes.

Each worker process runs one trial at a time and holds the paused ones that it started. A paused trial without files
continues in the process that holds it; one with files can continue in any. A worker that dies or takes too long is
replaced; its trial ends as lost or failed, and the study goes on.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoestring.core.options import check_whole
from shoestring.core.workers import now
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.base import Job, Report, is_stateless
from shoestring.executors.checkpoints import files_of
from shoestring.executors.worker_process import Setup


@dataclass(frozen=True)
class Processes:
    """Run trials in ``workers`` processes.

    A grant that takes longer than ``trial_seconds`` fails; ``alive`` is how many trials, the running one included,
    each process holds in memory.
    """

    workers: int = 2
    trial_seconds: float | None = None
    alive: int = 16

    def __post_init__(self) -> None:
        check_whole(self, workers=1, alive=1)
        if self.trial_seconds is not None and self.trial_seconds <= 0:
            raise MethodError(f"trial_seconds is {self.trial_seconds}; it must be positive")

    def open(self, objective: Any, directory: Path) -> ProcessesSession:
        return ProcessesSession(self, _setup(objective, directory), is_stateless(objective))


def _setup(objective: Any, directory: Path) -> Setup:
    """What a spawned process needs to have the same objective."""
    try:
        pickled = pickle.dumps(objective)
    except Exception as error:
        raise ObjectiveError(
            f"the objective {objective!r} cannot be sent to another process ({error}): "
            "define it at the top level of a file (no lambda, no inner function), or use workers=1"
        ) from None
    files = []
    for name, module in list(sys.modules.items()):
        path, spec = getattr(module, "__file__", None), getattr(module, "__spec__", None)
        if (name == "__main__" or spec is None) and path and path.endswith(".py") and name.encode() in pickled:
            files.append((name, path, spec.parent if spec else ""))
    if b"__main__" in pickled and not files:
        raise ObjectiveError(
            "the objective was defined interactively, and another process cannot load it: "
            "put it in a file, or use workers=1"
        )
    return Setup(tuple(files), tuple(sys.path), pickled, directory)


@dataclass
class _Worker:
    """A worker process as its parent sees it."""

    process: subprocess.Popen[bytes]
    pipe: multiprocessing.connection.Connection
    job: Job | None = None
    deadline: float | None = None  # for the job
    ready: bool = False
    idle: bool = False  # it waits for the order to run the next step of its job
    queue: deque[Job] = field(default_factory=deque)  # jobs that only this worker can run
    held: dict[int, int] = field(default_factory=dict)  # the trials in its memory, and the step that each has reached

    def send(self, order: Literal["setup", "step", "drop"], argument: object) -> None:
        with suppress(OSError):  # a worker that is gone is noticed when its pipe is read
            self.pipe.send((order, argument))

    def step(self, job: Job) -> None:
        """Order the next step of a job, whose last reading is in the log."""
        self.job, self.idle = job, False
        self.send("step", job)

    def drop(self, trial: int) -> None:
        del self.held[trial]
        self.send("drop", trial)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.pipe.close()


class ProcessesSession:
    resubmits_running = False
    now = staticmethod(now)

    def __init__(self, options: Processes, setup: Setup, stateless: bool) -> None:
        self.slots = options.workers
        self._options = options
        self._setup = setup
        self._stateless = stateless
        self._pending: list[Report] = []
        # All at once and before anything is granted: the time of loading is not charged to the budget.
        self._workers = [self._spawn() for _ in range(options.workers)]
        for worker in self._workers:
            self._wait_until_ready(worker)

    def resume_from(self, trial: int, step: int) -> int:
        # A trial that is held here may have been continued by another process since it was paused.
        if self._stateless or any(worker.held.get(trial) == step for worker in self._workers):
            return step
        return files_of(self._setup.directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        owner = next((w for w in self._workers if w.held.get(job.trial) == job.start), None)
        if owner is not None and owner.job is not None:
            if not self._is_movable(job):
                owner.queue.append(job)
                return
            owner.drop(job.trial)
            owner = None
        self._start(owner or self._idle_worker(), job)

    def _is_movable(self, job: Job) -> bool:
        """Whether a job can start in a process that does not hold its trial."""
        return self._stateless or files_of(self._setup.directory, job.trial).newest(job.start) == job.start

    def _idle_worker(self) -> _Worker:
        for worker in self._workers:
            if worker.job is None and not worker.queue:
                return worker
        self._workers.append(self._spawn())
        return self._workers[-1]

    def _spawn(self) -> _Worker:
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            program = "from shoestring.executors.worker_process import main; main()"
            command = [sys.executable, "-c", program, str(theirs.fileno())]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        worker = _Worker(process, ours)
        worker.send("setup", self._setup)
        return worker

    def _wait_until_ready(self, worker: _Worker) -> None:
        """Wait until a worker has loaded the objective, or raise why it could not."""
        try:
            problem = worker.pipe.recv()
        except (EOFError, OSError):
            problem = f"it ended with code {worker.process.wait()}"
        if problem:
            self.close()
            raise ObjectiveError(f"a worker process could not load the objective: {problem}")
        worker.ready = True

    def _start(self, worker: _Worker, job: Job) -> None:
        worker.deadline = self._job_deadline() if worker.ready else None
        worker.held.pop(job.trial, None)
        worker.held[job.trial] = job.start  # the last one: the most recently used
        needed = {job.trial, *(queued.trial for queued in worker.queue)}
        spare = [trial for trial in worker.held if trial not in needed]
        for trial in spare[: max(0, len(worker.held) - self._options.alive)]:
            worker.drop(trial)
        worker.step(job)

    def _job_deadline(self) -> float | None:
        limit = self._options.trial_seconds
        return None if limit is None else now() + limit

    def collect(self, until: float | None) -> list[Report]:
        for worker in list(self._workers):
            if worker.job is not None and worker.idle:
                worker.step(worker.job)
            elif worker.job is None and worker.queue:
                self._start(worker, worker.queue.popleft())
        if self._pending:
            reports, self._pending = self._pending, []
            return reports
        limits = [w.deadline for w in self._workers if w.job and w.deadline] + ([] if until is None else [until])
        pipes: list[Any] = [worker.pipe for worker in self._workers]
        ready = multiprocessing.connection.wait(pipes, max(min(limits) - now(), 0.0) if limits else None)
        reports = []
        for worker in list(self._workers):
            if worker.pipe in ready:
                reports += self._receive(worker)
            elif worker.job and worker.deadline and now() >= worker.deadline:
                message = f"it took longer than trial_seconds={self._options.trial_seconds:g}"
                reports += self._end_worker(worker, "failed", message)
        return reports

    def _receive(self, worker: _Worker) -> list[Report]:
        if not worker.ready:
            self._wait_until_ready(worker)
            worker.deadline = self._job_deadline()  # the time of loading is not the trial's
            return []
        try:
            report: Report = worker.pipe.recv()
        except (EOFError, OSError):
            return self._end_worker(worker, "lost", f"its process ended with code {worker.process.wait()}")
        assert worker.job is not None
        worker.idle = True
        if report.how == "reading":
            worker.held[report.trial] = report.step
        else:
            del worker.held[report.trial]
        done = report.completes(worker.job)
        worker.job = None if done else worker.job._replace(start=report.step, known=report.step)
        return [report]

    def _end_worker(self, worker: _Worker, how: Literal["failed", "lost"], message: str) -> list[Report]:
        """Kill a worker and report its job; jobs in its queue move to other workers if their files allow it."""
        self._workers.remove(worker)
        worker.end()
        reports = []
        if worker.job is not None:
            reports.append(Report(worker.job.trial, worker.job.known + 1, how, message=message))
        for job in worker.queue:
            if self._is_movable(job):
                self.submit(job)
            else:
                lost = f"the process that held it has ended: {message}"
                reports.append(Report(job.trial, job.start, "lost", message=lost))
        return reports

    def cancel(self, trial: int) -> None:
        for worker in list(self._workers):
            worker.queue = deque(job for job in worker.queue if job.trial != trial)
            if worker.job is not None and worker.job.trial == trial:
                if not worker.idle:
                    self._pending += [r for r in self._end_worker(worker, "lost", "ended") if r.trial != trial]
                    continue
                worker.job = None
            if trial in worker.held:
                worker.drop(trial)

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()
        self._workers.clear()
