"""CatBoost: a callback that reports boosting iterations to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.integrations.measurements import check_every, report_measured
from shoestring.objectives.trial import Trial
from shoestring.objectives.unwinding import GrantEnded


class _Reporting:
    def __init__(self, trial: Trial, monitor: str, every: int) -> None:
        self._trial, self._monitor, self._every = trial, monitor, every

    def after_iteration(self, info: Any) -> bool:
        step, between = divmod(info.iteration, self._every)  # it counts on after a snapshot, and from 1 without one
        if between or step <= self._trial.start:
            return True
        measured = {f"{data} {name}": v[-1] for data, of in info.metrics.items() for name, v in of.items()}
        try:
            report_measured(self._trial, measured, self._monitor)
        except GrantEnded:
            return False  # CatBoost would turn the exception into one of its own; so ``fit`` returns, and training ends
        return True


def report_callback(trial: Trial, monitor: str = "validation Logloss", every: int = 1) -> Any:
    """A callback of CatBoost's ``fit``: ``every`` iterations are a step.

    ``monitor`` is the metric that is tuned, data set and metric. CatBoost does not give the model to callbacks, so
    none is saved, and a trial that was paused starts over and pays for its steps again; unless the estimator saves
    snapshots in the trial's folder, ``save_snapshot=True, snapshot_file=str(trial.directory / "snapshot"),
    snapshot_interval=0``: then it continues from them. Where a grant ends, ``fit`` returns; what the objective does
    after it does not count.
    """
    check_every(every)
    return _Reporting(trial, monitor, every)
