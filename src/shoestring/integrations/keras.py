"""Keras: a callback that reports epochs to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.integrations.measurements import find_saved_file, framework, report_measured, warn_if_not_loaded
from shoestring.objectives.trial import Trial

_FILE = "model.keras"


def report_callback(trial: Trial, monitor: str = "val_loss", checkpoint: bool = True) -> Any:
    """A Keras callback: an epoch is a step, and ``monitor`` the metric that is tuned.

    It saves the model with its optimiser before each report; continue with
    ``keras.models.load_model(checkpoint(trial))`` and ``fit(..., initial_epoch=trial.start)``. With
    ``checkpoint=False`` it saves none, and a trial that was paused starts over and pays for its steps again.
    """

    class Reporting(framework("keras", "keras").callbacks.Callback):  # type: ignore[misc]
        def on_train_begin(self, logs: Any = None) -> None:
            warn_if_not_loaded(trial)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if checkpoint:
                self.model.save(trial.directory / _FILE)
            report_measured(trial, logs or {}, monitor)

    return Reporting()


def checkpoint(trial: Trial) -> str | None:
    """The model to continue a trial from, for ``keras.models.load_model``; None for a new trial."""
    return find_saved_file(trial, _FILE)
