"""XGBoost: a callback that reports boosting rounds to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.integrations.measurements import Rounds, find_saved_file, framework, report_measured
from shoestring.objectives.trial import Trial

_FILE = "model.ubj"


def report_callback(trial: Trial, monitor: str, every: int = 1, checkpoint: bool = True) -> Any:
    """A callback of ``xgboost.train`` and of its estimators: ``every`` rounds are a step.

    ``monitor`` is the metric that is tuned, as XGBoost prints it, such as "valid-logloss". The callback saves the
    model before each report; continue with ``xgboost.train(..., xgb_model=checkpoint(trial))`` and
    ``num_boost_round`` less by ``trial.start * every``. With ``checkpoint=False`` it saves none, and a trial that was
    paused starts over and pays for its steps again.
    """
    rounds = Rounds(trial, every)

    class Reporting(framework("xgboost.callback", "xgboost").TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if rounds.end_step():
                if checkpoint:
                    model.save_model(trial.directory / _FILE)
                measured = {f"{data}-{name}": v[-1] for data, of in evals_log.items() for name, v in of.items()}
                report_measured(trial, measured, monitor)
            return False

    return Reporting()


def checkpoint(trial: Trial) -> str | None:
    """The model to continue a trial from, for ``xgb_model=``; None for a new trial."""
    return find_saved_file(trial, _FILE)
