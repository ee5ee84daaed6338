"""LightGBM: a callback that reports boosting rounds to a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoestring.integrations.measurements import Rounds, find_saved_file, report_measured
from shoestring.objectives.trial import Trial

_FILE = "model.txt"


def report_callback(trial: Trial, monitor: str, every: int = 1, checkpoint: bool = True) -> Callable[[Any], None]:
    """A callback of ``lightgbm.train`` and of its estimators: ``every`` rounds are a step.

    ``monitor`` is the metric that is tuned, data set and metric, such as "valid binary_logloss". The callback saves
    the model before each report; continue with ``lightgbm.train(..., init_model=checkpoint(trial))`` and
    ``num_boost_round`` less by ``trial.start * every``. With ``checkpoint=False`` it saves none, and a trial that was
    paused starts over and pays for its steps again.
    """
    rounds = Rounds(trial, every)

    def report(env: Any) -> None:
        if rounds.end_step():
            if checkpoint:
                env.model.save_model(str(trial.directory / _FILE))
            measured = {f"{data} {name}": value for data, name, value, *_ in env.evaluation_result_list or ()}
            report_measured(trial, measured, monitor)

    return report


def checkpoint(trial: Trial) -> str | None:
    """The model to continue a trial from, for ``init_model=``; None for a new trial."""
    return find_saved_file(trial, _FILE)
