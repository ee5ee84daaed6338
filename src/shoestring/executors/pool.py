"""Workers that run one trial at a time: which of them runs what, whatever the workers are.

A worker holds the paused trials that it started. A paused trial without files continues in the worker that holds it;
one with files can continue in any. A worker that dies is replaced, and its trial is reported as lost. How a worker is
started and talked to is the pool's business: processes of this machine, or actors of a Ray cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from shoestring.core.workers import ticks
from shoestring.errors import ObjectiveError
from shoestring.objectives.held_trials import Eviction
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial_files import files_of

# The most workers in a row that may be lost while they load the objective.
_ATTEMPTS = 3

Order = Literal["step", "drop"]


class Gone(Exception):
    """A worker has ended; the message says how."""


class Link(Protocol):
    """The way to one worker. Its first answer is why it could not load the objective, empty if it could."""

    def send(self, order: Order, argument: Any) -> None:
        """Order the next step of a job, which is answered by a report, or to drop a trial, which is not answered."""
        ...

    def receive(self) -> Any:
        """The oldest answer, or :class:`Gone`."""
        ...

    def end(self) -> None:
        """Kill the worker, and return when it runs no more."""
        ...


class Pool(Protocol):
    """Starts workers and waits for them."""

    def spawn(self, number: int) -> Any: ...

    def wait(self, links: Sequence[Any], seconds: float | None) -> list[Any]:
        """Wait for links that have an answer, or whose worker has died; none if ``seconds`` have passed before."""
        ...

    def end_all(self, links: Sequence[Any]) -> None: ...


@dataclass(eq=False)
class Worker:
    """A worker as the session sees it."""

    number: int
    link: Link
    job: Job | None = None
    ready: bool = False
    idle: bool = False  # it waits for the order to run the next step of its job
    began: float | None = None  # when it began the step that it is in
    queue: deque[Job] = field(default_factory=deque)  # jobs that only this worker can run
    held: dict[int, int] = field(default_factory=dict)  # the trials in its memory, and the step that each has reached
    eviction: Eviction = field(default_factory=Eviction)  # which of them to drop

    @property
    def is_free(self) -> bool:
        return self.ready and self.job is None and not self.queue

    def step(self, job: Job) -> None:
        """Order the next step of a job, whose last reading is in the log."""
        self.job, self.idle, self.began = job, False, ticks()
        self.link.send("step", job)

    def drop(self, trial: int) -> None:
        del self.held[trial]
        self.link.send("drop", trial)


class PoolSession:
    """``workers`` workers of a pool, each with at most ``alive`` trials in its memory.

    ``slots`` is the number of workers that are ready: those that are loading, or that wait for a place on a cluster,
    are given nothing, so that their trials do not pay for it.
    """

    resubmits_running = False
    now = staticmethod(ticks)

    def __init__(self, pool: Pool, workers: int, alive: int, directory: Path, stateless: bool) -> None:
        self._pool = pool
        self._alive = alive
        self._directory = directory
        self._stateless = stateless
        self._pending: list[Report] = []
        self._waiting: deque[Job] = deque()  # jobs that any worker can run, when one is free
        self._lost_loading = 0
        self._workers = [Worker(number, pool.spawn(number)) for number in range(workers)]

    def load(self, count: int, seconds: float | None = None) -> int:
        """Wait until this many workers have loaded the objective, or some seconds; return how many have."""
        until = None if seconds is None else ticks() + seconds
        while (ready := self._ready()) < count and (until is None or ticks() < until):
            loading = {worker.link: worker for worker in self._workers if not worker.ready}
            for link in self._pool.wait(list(loading), None if until is None else max(until - ticks(), 0.0)):
                self._receive(loading[link])
        return ready

    def _ready(self) -> int:
        return sum(worker.ready for worker in self._workers)

    @property
    def slots(self) -> int:
        return max(1, self._ready())

    def resume_from(self, trial: int, step: int) -> int:
        # A trial that is held here may have been continued by another process since it was paused.
        if self._stateless or any(worker.held.get(trial) == step for worker in self._workers):
            return step
        return files_of(self._directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        owner = next((w for w in self._workers if w.held.get(job.trial) == job.start), None)
        if owner is not None and owner.job is not None:
            if not self._is_movable(job):
                owner.queue.append(job)
                return
            owner.drop(job.trial)
            owner = None
        owner = owner or next((worker for worker in self._workers if worker.is_free), None)
        if owner is None:
            self._waiting.append(job)
        else:
            self._start(owner, job)

    def _is_movable(self, job: Job) -> bool:
        """Return whether a job can start in a worker that does not hold its trial."""
        return self._stateless or files_of(self._directory, job.trial).newest(job.start) == job.start

    def _start(self, worker: Worker, job: Job) -> None:
        worker.held[job.trial] = job.start
        worker.eviction.note_use(job.trial)
        needed = {job.trial, *(queued.trial for queued in worker.queue)}
        while spare := {trial: step for trial, step in worker.held.items() if trial not in needed}:
            if len(worker.held) <= self._alive:
                break
            worker.drop(worker.eviction.choose(spare))
        worker.step(job)

    def began(self, trial: int) -> float | None:
        return next((w.began for w in self._workers if w.job is not None and w.job.trial == trial), None)

    def collect(self, until: float | None) -> list[Report]:
        for worker in self._workers:
            if worker.job is not None and worker.idle:
                worker.step(worker.job)
            elif worker.job is None and worker.queue:
                self._start(worker, worker.queue.popleft())
            elif worker.is_free and self._waiting:
                self._start(worker, self._waiting.popleft())
        if self._pending:
            reports, self._pending = self._pending, []
            return reports
        by_link = {worker.link: worker for worker in self._workers}
        answered = self._pool.wait(list(by_link), None if until is None else max(until - ticks(), 0.0))
        return [report for link in answered if link in by_link for report in self._receive(by_link[link])]

    def _receive(self, worker: Worker) -> list[Report]:
        try:
            answer = worker.link.receive()
        except Gone as gone:
            return self._replace(worker, str(gone))
        if not worker.ready:
            return self._note_ready(worker, answer)
        report: Report = answer
        assert worker.job is not None
        worker.idle, worker.began = True, None
        if report.held:
            worker.held[report.trial] = report.step
        else:
            del worker.held[report.trial]
        done = report.completes(worker.job)
        worker.job = None if done else worker.job._replace(start=report.step, known=report.step)
        return [report]

    def _note_ready(self, worker: Worker, problem: str) -> list[Report]:
        if problem:
            self.close()
            raise ObjectiveError(f"a worker process could not load the objective: {problem}")
        worker.ready, self._lost_loading = True, 0
        return []

    def _replace(self, worker: Worker, message: str) -> list[Report]:
        """Another worker in the place of one that ended, unless it cannot load the objective."""
        if not worker.ready:
            self._lost_loading += 1
            message = f"{message} while it was loading"
            if self._lost_loading >= _ATTEMPTS:
                self.close()
                raise ObjectiveError(f"a worker process could not load the objective: {message}")
        return self._end_worker(worker, message)

    def _end_worker(self, worker: Worker, message: str) -> list[Report]:
        """Kill a worker and report its job; jobs in its queue move to other workers if their files allow it."""
        worker.link.end()
        self._workers[self._workers.index(worker)] = Worker(worker.number, self._pool.spawn(worker.number))
        reports = []
        if worker.job is not None:
            reports.append(Report(worker.job.trial, worker.job.known + 1, "lost", message=message))
        for job in worker.queue:
            if self._is_movable(job):
                self.submit(job)
            else:
                lost = f"the process that held it has ended: {message}"
                reports.append(Report(job.trial, job.start, "lost", message=lost))
        return reports

    def cancel(self, trial: int) -> None:
        self._waiting = deque(job for job in self._waiting if job.trial != trial)
        for worker in list(self._workers):
            worker.queue = deque(job for job in worker.queue if job.trial != trial)
            if worker.job is not None and worker.job.trial == trial:
                if not worker.idle:
                    self._pending += [r for r in self._end_worker(worker, "ended") if r.trial != trial]
                    continue
                worker.job = None
            if trial in worker.held:
                worker.drop(trial)

    def close(self) -> None:
        self._pool.end_all([worker.link for worker in self._workers])
        self._workers.clear()
