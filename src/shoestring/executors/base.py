"""The contract between a study and whatever runs its trials.

An executor opens a :class:`Session` for one run. The driver submits a :class:`Job` for each grant and collects a
:class:`Report` for each step. A report that was collected is in the log when ``collect`` is called again. Before
that, the trial must not start its next step. Sessions add snapshots of a trial's files and delete none: the driver does
that, which knows what the log holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.checkpoints import TrialFiles

# What a report is: a reading, or how the trial ended.
Outcome = Literal["reading", "finished", "failed", "lost"]


class Job(NamedTuple):
    """A grant as an executor sees it: run a trial after step ``start`` until step ``until``.

    ``known`` is the last step whose reading is in the log, ``at`` the time of the trial's last event and ``order``
    the position of the grant in the log.
    """

    trial: int
    arm: int
    replicate: int
    config: Mapping[str, Any]
    seed: int
    start: int
    until: int
    known: int
    at: float = 0.0
    order: int = 0


class Report(NamedTuple):
    """What came of a job: a reading at a step, or the end of the trial in that step."""

    trial: int
    step: int
    how: Outcome
    reading: object = None
    message: str = ""

    def completes(self, job: Job) -> bool:
        """Whether nothing more of the job is due after this report."""
        return self.how != "reading" or self.step >= job.until


class Session(Protocol):
    """A run in progress.

    ``slots`` is how many trials it runs at once. With ``resubmits_running`` the jobs that were running when the
    process crashed are submitted again as they are; otherwise the trials are first taken over from a dead worker.
    """

    slots: int
    resubmits_running: bool

    def now(self) -> float: ...

    def resume_from(self, trial: int, step: int) -> int:
        """The step from which a trial whose last reading is that of ``step`` can be resumed here."""
        ...

    def submit(self, job: Job) -> None: ...

    def collect(self, until: float | None) -> list[Report]:
        """Wait for the next reports; an empty list if the session's clock reached ``until`` before."""
        ...

    def cancel(self, trial: int) -> None:
        """End a trial for good, at once if it is running; its files stay."""
        ...

    def close(self) -> None: ...


class Executor(Protocol):
    def open(self, objective: Objective, directory: Path) -> Session: ...


class Trial:
    """What an objective is given: a configuration, a seed, and a folder for its files.

    ``start`` is the step to continue after: 0 for a new trial, more if it is resumed from the files that it left in
    ``directory``.
    """

    def __init__(self, job: Job, files: TrialFiles) -> None:
        self.config = dict(job.config)
        self.seed = job.seed
        self.start = job.start
        self.arm = job.arm
        self.replicate = job.replicate
        self._files = files

    @property
    def directory(self) -> Path:
        """The trial's own folder. The files in it are snapshotted after every step."""
        return self._files.work()

    def __repr__(self) -> str:
        return f"Trial(config={self.config!r}, seed={self.seed}, start={self.start})"


class Objective(Protocol):
    """A function of a trial: it returns one reading, or yields one after each step."""

    def __call__(self, trial: Trial, /) -> Any: ...


def check_objective(objective: Any, max_resource: int | None) -> None:
    """Refuse what cannot be an objective before anything is spent on it."""
    if inspect.isgenerator(objective):
        raise ObjectiveError(
            "the objective is a generator that was already called: pass the function itself, without ()"
        )
    if not callable(objective):
        raise ObjectiveError(
            f"the objective is {objective!r}; it must be a function of a trial that returns a number or yields them"
        )
    if inspect.iscoroutinefunction(objective) or inspect.isasyncgenfunction(objective):
        raise ObjectiveError("the objective is async, which is not supported: make it an ordinary function")
    if inspect.isclass(objective):
        name = objective.__name__
        raise ObjectiveError(f"the objective is the class {name}; pass a function, or an instance that can be called")
    call = objective if inspect.isroutine(objective) else type(objective).__call__
    steps = inspect.isgeneratorfunction(inspect.unwrap(objective)) or inspect.isgeneratorfunction(call)
    if steps and max_resource is None:
        raise ObjectiveError(
            "the objective yields a reading after each step: say how many steps a trial can have, max_resource=..."
        )
    if not steps and inspect.isroutine(objective) and (max_resource or 1) > 1:
        raise ObjectiveError(
            f"max_resource is {max_resource}, but the objective returns once: make it a generator that yields a "
            "reading after each step (`yield from`, if it calls another one), or leave max_resource out"
        )


def check_workers(workers: object, executor: object) -> None:
    """Refuse a number of workers, or an executor, that cannot be."""
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise MethodError(f"workers is {workers!r}; it is how many trials run at once, a whole number from 1")
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "open", None))):
        raise MethodError(f"executor is {executor!r}; it must be an object such as shoestring.executors.Processes(4)")
    if executor is not None and workers != 1:
        raise MethodError(f"workers={workers} and an executor are given; the executor says how many, so give only that")


def is_stateless(objective: Any) -> bool:
    """Whether an objective is a problem, with ``reading``: its trials can continue at any step without files."""
    return hasattr(objective, "reading")
