"""Code that the loggers share: one run in the tracker for each trial, and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading

Run = TypeVar("Run")


def require(module: str, logger: str) -> None:
    """Say how to install the library of a logger before anything is run; it is imported when it is first used."""
    if find_spec(module) is None:
        raise ImportError(f"ss.loggers.{logger} needs {module}, which is not installed: pip install {module}")


def import_needed(module: str, logger: str, extra: str) -> Any:
    """Import a library that a logger needs, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"ss.loggers.{logger} needs {extra} ({error}): pip install {extra}") from error


def numbers_of(reading: Reading) -> dict[str, float]:
    """Collect all numbers of a reading by name; ``value`` is the tuned one, or the first of several."""
    numbers = {"value": reading.value, "low": reading.low, "high": reading.high, "cost": reading.cost}
    metrics = {name: metric for name, metric in reading.metrics.items() if isinstance(metric, float)}
    return {**metrics, **{name: number for name, number in numbers.items() if number is not None}}


def remarks_of(trial: TrialRecord) -> dict[str, str]:
    """Collect the notes and the attributes of a trial, as texts by name."""
    notes = {"note": "\n".join(trial.notes)} if trial.notes else {}
    return {**notes, **{name: str(value) for name, value in trial.attributes.items()}}


class Runs(Generic[Run]):
    """The runs that are open in the tracker, one for each trial."""

    def __init__(self, start: Callable[[Any, TrialRecord], Run]) -> None:
        self._start = start
        self._open: dict[int, Run] = {}

    def of(self, study: Any, trial: TrialRecord) -> Run:
        """The run of a trial, which is started on first use."""
        if trial.index not in self._open:
            self._open[trial.index] = self._start(study, trial)
        return self._open[trial.index]

    def close(self, study: Any, trial: TrialRecord) -> Run:
        """The run of a trial that has ended, for the last time."""
        run = self.of(study, trial)
        del self._open[trial.index]
        return run

    def close_all(self, study: Any) -> list[tuple[TrialRecord, Run]]:
        """The trials that are paused, or were interrupted, with their runs."""
        runs = [(study.trials[index], run) for index, run in self._open.items()]
        self._open.clear()
        return runs
