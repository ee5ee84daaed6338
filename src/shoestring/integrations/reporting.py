"""What the callbacks for training frameworks share: reporting measurements, and finding the checkpoint again."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shoestring.errors import MethodError, ReadingError
from shoestring.executors.base import Trial

# Names that ``trial.report`` understands in its own way.
_OWN = ("value", "low", "high", "cost", "step")


def framework(module: str, package: str) -> Any:
    """Import a framework, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this callback needs {package} ({error}): pip install {package}") from error


def report_measured(trial: Trial, measured: Mapping[str, Any], monitor: str, step: int | None) -> None:
    """Report what a framework measured after a step: ``monitor`` is tuned, the rest are metrics."""
    if monitor not in measured:
        if not measured:
            raise ReadingError(f"monitor is {monitor!r}, and nothing was measured: give the framework validation data")
        known = ", ".join(map(repr, measured))
        raise ReadingError(f"monitor is {monitor!r}, and what was measured is {known}: give one of these names")
    metrics = {name: float(value) for name, value in measured.items() if name not in (*_OWN, monitor)}
    trial.report(float(measured[monitor]), step=step, **metrics)


def check_every(every: int) -> None:
    """Refuse a number of rounds that cannot be a step."""
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise MethodError(f"every is {every!r}; it is how many rounds are one step, a whole number from 1")


def saved_file(trial: Trial, name: str) -> str | None:
    """The path of a checkpoint that the callback saved; None for a new trial."""
    path = trial.directory / name
    if path.exists():
        return str(path)
    if trial.start:
        raise ReadingError(
            f"the trial continues after step {trial.start}, because it left files in its folder, but {name} is not "
            "among them: let the callback save checkpoints, and keep other files elsewhere"
        )
    return None
