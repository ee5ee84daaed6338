"""Code that the callbacks for training frameworks share: reporting measurements, and finding the checkpoint again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from weakref import WeakSet

from shoestring.errors import MethodError, ReadingError
from shoestring.objectives.trial import Trial

_logger = logging.getLogger("shoestring")

# The trials that have asked for their checkpoint in this process.
_asked: WeakSet[Trial] = WeakSet()
# Names that ``trial.report`` understands in its own way.
_OWN = ("value", "low", "high", "cost", "step")


def framework(module: str, package: str) -> Any:
    """Import a framework, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this callback needs {package} ({error}): pip install {package}") from error


def report_measured(trial: Trial, measured: Mapping[str, Any], monitor: str) -> None:
    """Report what a framework measured after a step: ``monitor`` is tuned, the rest are metrics.

    Which step that is follows from ``trial.start`` and the number of reports. The counters of frameworks do not serve:
    LightGBM forgets rounds without a split, others start at 0 with every call of ``fit``.
    """
    if monitor not in measured:
        if not measured:
            raise ReadingError(f"monitor is {monitor!r}, and nothing was measured: give the framework validation data")
        known = ", ".join(map(repr, measured))
        raise ReadingError(f"monitor is {monitor!r}, and what was measured is {known}: give one of these names")
    metrics = {name: float(value) for name, value in measured.items() if name not in (*_OWN, monitor)}
    trial.report(float(measured[monitor]), step=None, **metrics)


def warn_if_not_loaded(trial: Trial) -> None:
    """Say so if a trial that continues has not asked for its checkpoint: it may have started over unnoticed."""
    if trial.start and trial not in _asked:
        _logger.warning(
            "trial %d continues after step %d, but checkpoint(trial) was not asked for: if the training started over, "
            "its readings belong to earlier steps. Load the checkpoint", trial.index, trial.start,
        )  # fmt: skip


def check_every(every: int) -> None:
    """Refuse a number of rounds that cannot be a step."""
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise MethodError(f"every is {every!r}; it is how many rounds are one step, a whole number from 1")


class Rounds:
    """Counts the rounds of a boosting library in one call of the objective: ``every`` of them are a step."""

    def __init__(self, trial: Trial, every: int) -> None:
        check_every(every)
        self._trial, self._every, self._rounds = trial, every, 0

    def end_step(self) -> bool:
        """Count a round; whether it was the last one of a step."""
        if self._rounds == 0:
            warn_if_not_loaded(self._trial)
        self._rounds += 1
        return self._rounds % self._every == 0


def note_checkpoint_request(trial: Trial) -> None:
    """Note that the objective asked where the checkpoint of its trial is."""
    _asked.add(trial)


def find_saved_file(trial: Trial, name: str) -> str | None:
    """The path of a checkpoint that the callback saved; None for a new trial."""
    path = trial.directory / name
    note_checkpoint_request(trial)
    if path.exists():
        return str(path)
    if trial.start:
        raise ReadingError(
            f"the trial continues after step {trial.start}, because it left files in its folder, but {name} is not "
            "among them: let the callback save checkpoints, and keep other files elsewhere"
        )
    return None
