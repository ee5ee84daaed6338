"""What an executor is handed, what it gives back, and how one trial is advanced step by step.

An executor opens a :class:`Session` for one run. The driver submits a :class:`Job` for each grant
and collects a :class:`Report` for each step. A report handed out is in the log when ``collect`` is
called again, so nothing may be thrown away before that.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shoestring.errors import ObjectiveError
from shoestring.executors.checkpoints import TrialFiles

_logger = logging.getLogger("shoestring")


class Job(NamedTuple):
    """A grant as an executor sees it. ``known`` is the last step whose reading is in the log."""

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
    """What came of a job: a reading at a step, or its end.

    ``how`` is "reading", or how the trial ended: "finished", "failed" or "lost".
    """

    trial: int
    step: int
    how: str
    reading: object = None
    message: str = ""


class Session(Protocol):
    """A run in progress. ``renews`` says that its jobs come back to it unchanged after a crash."""

    slots: int
    renews: bool

    def now(self) -> float: ...

    def resume_from(self, trial: int, step: int) -> int:
        """The step from which a trial that is at ``step`` can be taken up here."""
        ...

    def submit(self, job: Job) -> None: ...

    def collect(self, until: float | None) -> list[Report]:
        """Wait for what comes next; nothing if the session's clock reached ``until`` before."""
        ...

    def cancel(self, trial: int) -> None:
        """End a trial for good, at once if it is running; copies of its files are not needed any more."""
        ...

    def close(self) -> None: ...


class Executor(Protocol):
    def open(self, objective: Objective, directory: Path) -> Session: ...


class Trial:
    """What an objective is given: a configuration, a seed, and a place for its files.

    ``start`` is the step to continue after: 0 for a fresh trial, more if it is taken up from the
    files that it left in ``directory``.
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
        """A folder of the trial's own. What it holds after a step is kept with that step."""
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
        raise ObjectiveError("the objective is async, which nothing here awaits: make it an ordinary function")
    if inspect.isclass(objective):
        name = objective.__name__
        raise ObjectiveError(f"the objective is the class {name}; pass a function, or an instance that can be called")
    call = objective if inspect.isroutine(objective) else type(objective).__call__
    steps = inspect.isgeneratorfunction(inspect.unwrap(objective)) or inspect.isgeneratorfunction(call)
    if steps and max_resource is None:
        raise ObjectiveError(
            "the objective yields a reading a step: say how many steps a trial can have, max_resource=..."
        )
    if not steps and inspect.isroutine(objective) and (max_resource or 1) > 1:
        raise ObjectiveError(
            f"max_resource is {max_resource}, but the objective returns once: make it a generator that yields a "
            "reading after each step (`yield from`, if it hands on another one), or leave max_resource out"
        )


def remembers_nothing(objective: Any) -> bool:
    """Whether an objective is a problem: a trial of it can be taken up at any step, without files."""
    return hasattr(objective, "reading")


class Stepper:
    """One trial in progress: a generator that is advanced one step at a time."""

    def __init__(self, objective: Any, job: Job, files: TrialFiles) -> None:
        self._objective = objective
        self.files = files
        self.step = job.start
        self._iterator: Iterator[Any] | None = None
        self._returned = False
        self.job = job

    def advance(self) -> Report:
        """Run to the next step that is not in the log yet."""
        while True:
            step = self.step + 1
            try:
                outcome = self._next()
            except StopIteration:
                return ended(self.job, step)
            except (Exception, SystemExit) as error:
                return Report(self.job.trial, step, "failed", message=told(error))
            self.step = step
            if step > self.job.known:
                try:
                    self.files.keep(step)
                except OSError as error:
                    return Report(self.job.trial, step, "failed", message=f"its files cannot be kept: {told(error)}")
                return Report(self.job.trial, step, "reading", outcome)

    def _next(self) -> Any:
        if self._returned:
            raise StopIteration
        if self._iterator is None:
            outcome = self._begin()
            if not hasattr(outcome, "__next__"):
                self._returned = True
                return outcome
            self._iterator = outcome
        return next(self._iterator)

    def _begin(self) -> Any:
        try:
            return self._objective(Trial(self.job, self.files))
        except StopIteration as error:
            raise RuntimeError("the objective raised StopIteration") from error

    def stop(self) -> None:
        """Close the generator; what goes wrong in its own cleaning up does not concern the study."""
        close = getattr(self._iterator, "close", None)
        if close is None:
            return
        try:
            close()
        except Exception as error:
            _logger.warning("trial %d did not close well: %s", self.job.trial, told(error))


def ended(job: Job, step: int) -> Report:
    """A trial that has no more to give: a normal end, unless it never gave anything."""
    if step > 1:
        return Report(job.trial, step, "finished")
    return Report(job.trial, step, "failed", message="it ended without a reading")


def told(error: BaseException) -> str:
    """An exception in one line, with the place of the user's code that raised it."""
    try:
        words = str(error)[:1000]
    except Exception:
        words = "its message cannot be shown"
    frames = traceback.extract_tb(error.__traceback__)
    file, line = (frames[-1].filename, frames[-1].lineno) if frames else ("", None)
    if isinstance(error, SyntaxError):
        file, line, words = error.filename or "", error.lineno, error.msg
    return f"{type(error).__name__}: {words}" + (f" ({Path(file).name}:{line})" if file else "")
