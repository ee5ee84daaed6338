"""The contract between a study and whatever runs its trials.

An executor opens a :class:`Session` for one run. The driver submits a :class:`Job` for each grant and collects a
:class:`Report` for each step. A report that was collected is in the log when ``collect`` is called again. Before
that, the trial must not start its next step. Sessions add snapshots of a trial's files and delete none: the driver does
that, which knows what the log holds.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from shoestring._other_names import missing_attribute
from shoestring._tables import pairs_table
from shoestring.core.readings import Reading, reading_with
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors.checkpoints import TrialFiles
from shoestring.executors.command import Command, is_command
from shoestring.executors.inspection import only_returns, yields
from shoestring.executors.saving import Checkpoint
from shoestring.spaces.codec import copied

_logger = logging.getLogger("shoestring")

# What a report is: a reading, or how the trial ended; "storage" is a disk that cannot be written, and ends the run.
Outcome = Literal["reading", "finished", "failed", "lost", "storage"]


class Job(NamedTuple):
    """A grant as an executor sees it: run a trial after step ``start`` until step ``until``.

    ``known`` is the last step whose reading is in the log, ``at`` the time of the trial's last event, ``order`` the
    position of the grant in the log, ``holders`` how often the trial went from one worker to another, and ``most`` how
    many steps a trial can have (``max_resource``; None is one step, of an objective that returns).
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
    holders: int = 0
    most: int | None = 1


class Report(NamedTuple):
    """What came of a job: a reading at a step, or the end of the trial in that step, and how long the step took.

    ``held`` is whether the process that ran it still has the trial in memory.
    """

    trial: int
    step: int
    how: Outcome
    reading: object = None
    message: str = ""
    seconds: float = 0.0
    held: bool = True

    def completes(self, job: Job) -> bool:
        """Whether nothing more of the job is due after this report."""
        return self.how != "reading" or self.step >= job.until


class Session(Protocol):
    """A run in progress.

    ``slots`` is how many trials it runs at once. With ``resubmits_running`` the jobs that were running when the
    process crashed are submitted again as they are; otherwise the trials are first taken over from a dead worker.
    """

    resubmits_running: bool

    @property
    def slots(self) -> int: ...

    def now(self) -> float:
        """The session's clock, for ``collect``: one that nobody can set."""
        ...

    def resume_from(self, trial: int, step: int) -> int:
        """The step from which a trial whose last reading is that of ``step`` can be resumed here."""
        ...

    def submit(self, job: Job) -> None: ...

    def began(self, trial: int) -> float | None:
        """When the step began that a trial is in; None if it waits to begin one."""
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


class Trial:
    """What an objective is given: a configuration, a seed, and a folder for its files.

    ``start`` is the step to continue after: 0 for a new trial, more if it is resumed from the files that it left in
    ``directory``; ``until`` is the step to which it may train now. ``index`` is its number in the study, ``worker`` the
    number of the process that runs it, from 0, and ``device`` the one of ``gpus=`` or ``devices=`` that this process
    has, or None.
    """

    def __init__(self, job: Job, files: TrialFiles, worker: int = 0, device: Any = None) -> None:
        self.index = job.trial
        self.config = copied(job.config)
        self.seed = job.seed
        self.start = job.start
        self.until = job.until
        self.arm = job.arm
        self.replicate = job.replicate
        self.worker = worker
        self.device = device
        self._files = files
        self._report: Callable[[Reading, int | None], None] | None = None

    def connect(self, report: Callable[[Reading, int | None], None] | None) -> None:
        """Say where readings go; executors do that before they call a function."""
        self._report = report

    def report(self, value: object, step: int | None = None, **metrics: float) -> None:
        """Report the reading of a step, from an objective that is a function.

        Call it once after every step, as a generator yields; ``step`` may be given as a check, and steps count from 1.
        ``low=``, ``high=`` and ``cost=`` are the bounds and the cost of the reading, other names are metrics. At the
        last step that the trial is granted, this does not return: it raises an exception that ends the function (no
        ``Exception``; let it pass). If the trial is granted more, the function is called again with ``trial.start``
        and the files that it had written before this report. Without any it starts over, and pays for the steps again.

        >>> import shoestring as ss
        >>> def train(trial):
        ...     weight = trial.checkpoint.load() or 1.0
        ...     for step in range(trial.start + 1, 10):
        ...         weight *= 1 - trial.config["rate"] * (1 - trial.config["rate"])
        ...         trial.checkpoint.save(weight)
        ...         trial.report(weight, step=step)
        >>> study = ss.tune(train, {"rate": (0.0, 1.0)}, budget="100 steps", max_resource=9, method="asha")
        >>> study.spent["steps"], 0.3 < study.best.config["rate"] < 0.7
        (100, True)
        """
        if self._report is None:
            raise ObjectiveError("the objective is a generator: yield the reading instead of calling trial.report")
        self._report(reading_with(value, metrics), step)

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """Saves the state of the trial into its folder and loads it again: ``save(state)`` and ``load()``."""
        return Checkpoint(self.directory, self.start)

    @property
    def directory(self) -> Path:
        """The trial's own folder. The files in it are snapshotted after every step."""
        return self._files.work()

    @contextmanager
    def unsaved_files(self) -> Iterator[None]:
        """No snapshot is taken inside the block, because something else is still writing the files."""
        self._files.unsaved = True
        try:
            yield
        finally:
            self._files.unsaved = False

    if not TYPE_CHECKING:  # a type checker would take any name to exist

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("config", {}):
                raise AttributeError(f"a Trial has no attribute {name!r}; write trial.config[{name!r}]")
            raise missing_attribute("trial", "a Trial", name)

        def __getitem__(self, name: object) -> Any:
            raise TypeError(f"a Trial is no mapping; write trial.config[{name!r}]")

    def _repr_html_(self) -> str:
        return pairs_table("Trial", {"start": self.start, "seed": self.seed, **self.config})

    def __repr__(self) -> str:
        return f"Trial(config={self.config!r}, seed={self.seed}, start={self.start})"


class Objective(Protocol):
    """A function of a trial: it returns one reading, or yields or reports one after each step."""

    def __call__(self, trial: Trial, /) -> Any: ...


def check_objective(objective: Any, max_resource: int | None, parameters: Iterable[str]) -> None:
    """Refuse what cannot be an objective over these parameters, before anything is spent on it."""
    if isinstance(objective, Command):
        objective.check(list(parameters), max_resource)
        return
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
    if yields(objective) and max_resource is None:
        raise ObjectiveError(
            "the objective yields a reading after each step: say how many steps a trial can have, max_resource=..."
        )
    if (max_resource or 1) > 1 and only_returns(objective):
        raise ObjectiveError(
            f"max_resource is {max_resource}, but the objective returns once: call trial.report(value) after each "
            "step, or make it a generator that yields a reading after each step (`yield from`, if it calls another "
            "one), or leave max_resource out"
        )


def place_of(objective: Any) -> str:
    """Where an objective is defined and what it is called there, FILE:NAME, as the log records it; or the command."""
    if isinstance(objective, Command):
        return objective.place
    inner: Any = inspect.unwrap(getattr(objective, "func", objective))  # a partial function has one
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    try:
        file = inspect.getsourcefile(named) or ""
    except (TypeError, OSError):
        file = ""
    return f"{file if Path(file).is_file() else named.__module__}:{named.__qualname__}"


def warn_of_another_objective(study: str, stored: str | None, objective: Objective) -> None:
    """Say so if a study continues with another objective than it was started with; its folder may have moved."""
    given = place_of(objective)
    if stored is not None and stored != given and (is_command(given) or Path(stored).name != Path(given).name):
        _logger.warning(
            "the study %r was started with the objective %s and continues with %s; if that is intended, say "
            "accept_objective=True (--accept-objective)", study, stored, given,
        )  # fmt: skip


def check_workers(workers: object, executor: object, devices: object = None) -> None:
    """Refuse a number of workers, or an executor, that cannot be."""
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise MethodError(f"workers is {workers!r}; it is how many trials run at once, a whole number from 1")
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "open", None))):
        raise MethodError(f"executor is {executor!r}; it must be an object such as shoestring.executors.Processes(4)")
    if executor is not None and devices is not None:
        raise MethodError("an executor and its devices are given; give them to the executor: Processes(2, gpus=[0, 1])")
    if executor is not None and workers != 1:
        raise MethodError(f"workers={workers} and an executor are given; the executor says how many, so give only that")


def is_stateless(objective: Any) -> bool:
    """Whether an objective is a problem, with ``reading``: its trials can continue at any step without files."""
    return hasattr(objective, "reading")
