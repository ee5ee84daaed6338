"""The contract between a study and whatever runs its trials.

An executor opens a :class:`Session` for one run. The driver submits a :class:`Job` for each grant and collects a
:class:`Report` for each step. A report that was collected is in the log when ``collect`` is called again. Before
that, the trial must not start its next step. Sessions add snapshots of a trial's files and delete none: the driver does
that, which knows what the log holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from shoestring.errors import MethodError
from shoestring.objectives.job import Job as Job, Report as Report
from shoestring.objectives.trial import Objective, Trial as Trial


class Session(Protocol):
    """A run in progress.

    ``slots`` is how many trials it runs at once. With ``resubmits_running`` the jobs that were running when the
    process crashed are submitted again unchanged; otherwise the trials are first taken over from a dead worker.
    """

    resubmits_running: bool

    @property
    def slots(self) -> int: ...

    def now(self) -> float:
        """Read the session's clock, for ``collect``; it cannot be set."""
        ...

    def resume_from(self, trial: int, step: int) -> int:
        """Return the step from which a trial whose last reading is of ``step`` can be resumed here."""
        ...

    def submit(self, job: Job) -> None: ...

    def began(self, trial: int) -> float | None:
        """Return when the current step of a trial began; None if it waits to begin one."""
        ...

    def collect(self, until: float | None) -> list[Report]:
        """Wait for the next reports; an empty list if the session's clock reached ``until`` before."""
        ...

    def cancel(self, trial: int) -> None:
        """End a trial for good, at once if it is running; its files stay."""
        ...

    def close(self) -> None: ...


class Executor(Protocol):
    def open(self, objective: Objective, directory: Path) -> Session: ...


def check_init(init: object) -> None:
    """Refuse what cannot be called at the start of a worker."""
    if init is not None and not callable(init):
        raise MethodError(f"init is {init!r}; it must be a function without arguments, called once in each worker")


def check_workers(workers: object, executor: object, devices: object = None, at_start: object = None) -> None:
    """Refuse a number of workers, or an executor, that cannot be."""
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise MethodError(f"workers is {workers!r}; it is how many trials run at once, a whole number from 1")
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "open", None))):
        raise MethodError(f"executor is {executor!r}; it must be an object such as shoestring.executors.Processes(4)")
    if executor is not None and devices is not None:
        raise MethodError("an executor and its devices are given; give them to the executor: Processes(2, gpus=[0, 1])")
    if executor is not None and at_start is not None:
        raise MethodError("an executor, and threads or init, are given; give it these: Processes(2, threads=1)")
    if executor is not None and workers != 1:
        raise MethodError(f"workers={workers} and an executor are given; the executor says how many, so give only that")
