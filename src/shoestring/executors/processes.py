"""Trials in spawned processes.

Each worker process runs one trial at a time and keeps the paused ones it has begun. A trial that
kept no files goes on in the process that holds it; one that did may go on in any. A worker that
dies or takes too long is replaced; its trial ends as lost or failed, and the study goes on.
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
from typing import Any

from shoestring.core.workers import now
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.base import Job, Report, remembers_nothing
from shoestring.executors.checkpoints import files_of
from shoestring.executors.worker_process import Setup


@dataclass(frozen=True)
class Processes:
    """Run trials in ``workers`` processes.

    ``trial_seconds`` ends a grant that takes longer; ``alive`` is how many paused trials each
    process keeps ready to go on.
    """

    workers: int = 2
    trial_seconds: float | None = None
    alive: int = 16

    def __post_init__(self) -> None:
        if self.workers < 1 or self.alive < 1:
            raise MethodError(f"workers is {self.workers} and alive is {self.alive}; both are at least 1")
        if self.trial_seconds is not None and self.trial_seconds <= 0:
            raise MethodError(f"trial_seconds is {self.trial_seconds}; it must be positive")

    def open(self, objective: Any, directory: Path) -> ProcessesSession:
        return ProcessesSession(self, _setup(objective, directory))


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
            "the objective was typed in by hand, and another process cannot see it: put it in a file, or use workers=1"
        )
    return Setup(tuple(files), tuple(sys.path), pickled, directory, remembers_nothing(objective))


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: multiprocessing.connection.Connection
    job: Job | None = None
    ends: float | None = None
    ready: bool = False
    owed: bool = False
    waiting: deque[Job] = field(default_factory=deque)
    alive: dict[int, int] = field(default_factory=dict)  # paused trials and how far they are


class ProcessesSession:
    renews = False

    def __init__(self, options: Processes, setup: Setup) -> None:
        self.slots = options.workers
        self._options = options
        self._setup = setup
        self._early: list[Report] = []
        # All at once and before anything is granted: loading takes time that is nobody's budget.
        self._workers = [self._spawn() for _ in range(options.workers)]
        for worker in self._workers:
            self._greet(worker)

    def now(self) -> float:
        return now()

    def resume_from(self, trial: int, step: int) -> int:
        # Another process may have carried the trial on since it was paused here.
        if self._setup.remembers_nothing or any(worker.alive.get(trial) == step for worker in self._workers):
            return step
        return files_of(self._setup.directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        owner = next((w for w in self._workers if w.alive.get(job.trial) == job.start), None)
        if owner is not None and owner.job is not None:
            if not self._movable(job):
                owner.waiting.append(job)
                return
            self._send(owner, "forget", job.trial)
            del owner.alive[job.trial]
            owner = None
        self._begin(owner or self._idle(), job)

    def _movable(self, job: Job) -> bool:
        """Whether a job can be begun in a process that does not hold its trial."""
        return (
            self._setup.remembers_nothing or files_of(self._setup.directory, job.trial).newest(job.start) == job.start
        )

    def _idle(self) -> _Worker:
        for worker in self._workers:
            if worker.job is None and not worker.waiting:
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
        self._send(worker, "setup", self._setup)
        return worker

    def _greet(self, worker: _Worker) -> None:
        """Wait until a worker has loaded the objective, or raise why it could not."""
        try:
            verdict, what = worker.pipe.recv()
        except (EOFError, OSError):
            verdict, what = "broken", f"it ended with code {worker.process.wait()}"
        if verdict == "broken":
            self.close()
            raise ObjectiveError(f"a worker process could not load the objective: {what}")
        worker.ready = True

    def _begin(self, worker: _Worker, job: Job) -> None:
        self._release(worker)
        worker.job, worker.ends = job, self._end() if worker.ready else None
        worker.alive.pop(job.trial, None)
        worker.alive[job.trial] = job.start
        needed = {job.trial, *(waiting.trial for waiting in worker.waiting)}
        spare = [trial for trial in worker.alive if trial not in needed]
        for longest in spare[: max(0, len(worker.alive) - self._options.alive)]:
            del worker.alive[longest]
            self._send(worker, "forget", longest)
        self._send(worker, "run", job)

    def _end(self) -> float | None:
        limit = self._options.trial_seconds
        return None if limit is None else now() + limit

    @staticmethod
    def _send(worker: _Worker, order: str, what: object) -> None:
        """Send an order; a worker that is gone is noticed when its pipe is read."""
        with suppress(OSError):
            worker.pipe.send((order, what))

    def collect(self, until: float | None) -> list[Report]:
        for worker in list(self._workers):
            self._release(worker)
            if worker.job is None and worker.waiting:
                self._begin(worker, worker.waiting.popleft())
        if self._early:
            reports, self._early = self._early, []
            return reports
        ends = [worker.ends for worker in self._workers if worker.job is not None and worker.ends is not None]
        limits = [*ends, *([] if until is None else [until])]
        pipes: list[Any] = [worker.pipe for worker in self._workers]
        ready = multiprocessing.connection.wait(pipes, max(min(limits) - now(), 0.0) if limits else None)
        reports = []
        for worker in list(self._workers):
            if worker.pipe in ready:
                reports += self._receive(worker)
            elif worker.job is not None and worker.ends is not None and now() >= worker.ends:
                message = f"it took longer than trial_seconds={self._options.trial_seconds:g}"
                reports += self._bury(worker, "failed", message)
        return reports

    def _release(self, worker: _Worker, order: str = "go") -> None:
        """What the worker reported is in the log: it may go on, or is told to halt."""
        if worker.owed:
            worker.owed = False
            self._send(worker, order, None)

    def _receive(self, worker: _Worker) -> list[Report]:
        if not worker.ready:
            self._greet(worker)
            worker.ends = self._end()  # loading was not the trial's time
            return []
        try:
            _, report = worker.pipe.recv()
        except (EOFError, OSError):
            code = worker.process.wait()
            return self._bury(worker, "lost", f"its process ended with code {code}")
        assert worker.job is not None
        worker.owed = True
        if report.how == "reading":
            worker.alive[report.trial] = report.step
        else:
            del worker.alive[report.trial]
        over = report.how != "reading" or report.step >= worker.job.until
        worker.job = None if over else worker.job._replace(known=report.step)
        result: Report = report
        return [result]

    def _bury(self, worker: _Worker, how: str, message: str) -> list[Report]:
        """End a worker for good; what waited for it goes elsewhere if its files allow."""
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.wait()
        worker.pipe.close()
        reports = []
        if worker.job is not None:
            reports.append(Report(worker.job.trial, worker.job.known + 1, how, message=message))
        for job in worker.waiting:
            if self._movable(job):
                self.submit(job)
            else:
                lost = f"the process that held it is gone: {message}"
                reports.append(Report(job.trial, job.start, "lost", message=lost))
        return reports

    def cancel(self, trial: int) -> None:
        for worker in list(self._workers):
            worker.waiting = deque(job for job in worker.waiting if job.trial != trial)
            if worker.job is not None and worker.job.trial == trial:
                if worker.owed:
                    self._release(worker, "halt")
                    worker.job = None
                    del worker.alive[trial]
                else:
                    self._early += [r for r in self._bury(worker, "lost", "ended") if r.trial != trial]
            elif trial in worker.alive:
                self._release(worker)
                del worker.alive[trial]
                self._send(worker, "forget", trial)
        files_of(self._setup.directory, trial).settle()

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
            worker.pipe.close()
        self._workers.clear()
