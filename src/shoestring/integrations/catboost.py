"""CatBoost: a callback that reports boosting iterations to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.executors.base import Trial
from shoestring.executors.reporting import GrantEnded
from shoestring.integrations.reporting import check_every, report_measured


class _Reporting:
    def __init__(self, trial: Trial, monitor: str, every: int) -> None:
        self._trial, self._monitor, self._every = trial, monitor, every

    def after_iteration(self, info: Any) -> bool:
        if info.iteration % self._every:
            return True
        measured = {f"{data} {name}": v[-1] for data, of in info.metrics.items() for name, v in of.items()}
        try:
            report_measured(self._trial, measured, self._monitor, info.iteration // self._every)
        except GrantEnded:
            return False  # CatBoost would turn the exception into one of its own; so ``fit`` returns, and training ends
        return True


def report_callback(trial: Trial, monitor: str = "validation Logloss", every: int = 1) -> Any:
    """A callback of CatBoost's ``fit``: ``every`` iterations are a step.

    ``monitor`` is the metric that is tuned, data set and metric. CatBoost does not give the model to callbacks, so
    none is saved: a trial that was paused starts over and pays for its steps again. Where a grant ends, ``fit``
    returns; what the objective does after it does not count.
    """
    check_every(every)
    return _Reporting(trial, monitor, every)
