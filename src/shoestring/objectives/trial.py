"""The trial, as an objective sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoestring._other_names import missing_attribute, suggestion
from shoestring._tables import pairs_table
from shoestring.core.readings import Reading, reading_with
from shoestring.core.remarks import Attributes, Remarks, check_note
from shoestring.errors import ObjectiveError
from shoestring.objectives.checkpoint import Checkpoint
from shoestring.objectives.job import Job
from shoestring.objectives.trial_files import SHOW, TrialFiles
from shoestring.spaces.codec import deep_copy


class Trial:
    """The argument of an objective: a configuration, a seed, and a folder for its files.

    ``start`` is the step to continue after: 0 for a new trial, more if it is resumed from the files that it left in
    ``directory``; ``until`` is the step to which it may train now. ``index`` is its number in the study, ``worker`` the
    number of the process that runs it, from 0, and ``device`` the one of ``gpus=`` or ``devices=`` that this process
    has, or None. ``attributes`` takes values that are kept with the trial: ``trial.attributes["git"] = "1a2b3c"``.
    Images and other files for people to look at belong in ``show``.
    """

    def __init__(self, job: Job, files: TrialFiles, worker: int = 0, device: Any = None) -> None:
        self.index = job.trial
        self.config = deep_copy(job.config)
        self.seed = job.seed
        self.start = job.start
        self.until = job.until
        self.arm = job.arm
        self.replicate = job.replicate
        self.worker = worker
        self.device = device
        self.attributes = Attributes()
        self._notes: list[str] = []
        self._files = files
        self._report: Callable[[Reading, int | None], None] | None = None

    def connect(self, report: Callable[[Reading, int | None], None] | None) -> None:
        """Say where readings go; executors do that before they call a function."""
        self._report = report

    def report(self, value: object = None, step: int | None = None, **metrics: Any) -> None:
        """Report the reading of a step, from an objective that is a function.

        Call it once after every step, as a generator yields; ``step`` may be given as a check, and steps count from 1.
        ``low=``, ``high=`` and ``cost=`` are the bounds and the cost of the reading, other names are metrics, or
        objectives if the study names several. At the last step that the trial is granted, this does not return: it
        raises an exception that ends the function (no ``Exception``; let it pass). If the trial is granted more, the
        function is called again with ``trial.start`` and the files that it had written before this report. Without any
        it starts over, and pays for the steps again.

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

    def note(self, text: str) -> None:
        """Add a note to the trial, which is in the log once this step has its reading, or has failed.

        >>> import shoestring as ss
        >>> def train(trial):
        ...     if trial.config["x"] > 0.5:
        ...         trial.note("x is large")
        ...     trial.attributes["half"] = trial.config["x"] / 2
        ...     return trial.config["x"]
        >>> study = ss.tune(train, {"x": (0.6, 1.0)}, budget="2 evaluations", method="random")
        >>> study.trials[0].notes, sorted(study.trials[0].attributes)
        (['x is large'], ['half'])
        """
        self._notes.append(check_note(text))

    def take_remarks(self) -> Remarks | None:
        """The notes and attributes since the last call; None without any."""
        if not self._notes and not self.attributes.changed:
            return None
        remarks = Remarks(tuple(self._notes), self.attributes.take_changed())
        self._notes.clear()
        return remarks

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """Saves the state of the trial into its folder and loads it again: ``save(state)`` and ``load()``."""
        return Checkpoint(self.directory, self.start)

    @property
    def directory(self) -> Path:
        """The trial's own folder. The files in it are snapshotted after every step."""
        return self._files.work()

    @property
    def show(self) -> Path:
        """A folder in ``directory`` for images, reports and other files for people to look at.

        They are kept when the other files of the trial are deleted.
        """
        folder = self.directory / SHOW
        folder.mkdir(exist_ok=True)
        return folder

    @contextmanager
    def without_snapshots(self) -> Iterator[None]:
        """Take no snapshot inside the block, because another process is still writing the files."""
        self._files.being_written = True
        try:
            yield
        finally:
            self._files.being_written = False

    if not TYPE_CHECKING:  # a type checker would take any name to exist

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("config", {}):
                raise AttributeError(f"a Trial has no attribute {name!r}; write trial.config[{name!r}]")
            if (suggest := suggestion(name)) is not None:
                return suggest
            raise missing_attribute("trial", "a Trial", name)

        def __getitem__(self, name: object) -> Any:
            raise TypeError(f"a Trial is not a mapping; write trial.config[{name!r}]")

    def _repr_html_(self) -> str:
        return pairs_table("Trial", {"start": self.start, "seed": self.seed, **self.config})

    def __repr__(self) -> str:
        return f"Trial(config={self.config!r}, seed={self.seed}, start={self.start})"


class Objective(Protocol):
    """A function of a trial: it returns one reading, or yields or reports one after each step."""

    def __call__(self, trial: Trial, /) -> Any: ...
