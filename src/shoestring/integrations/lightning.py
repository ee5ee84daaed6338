"""PyTorch Lightning: a callback that reports epochs to a trial, and one that tunes online, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoestring.integrations.measurements import find_saved_file, framework, report_measured, warn_if_not_loaded
from shoestring.integrations.training import OnlineTraining
from shoestring.objectives.trial import Trial

_FILE = "lightning.ckpt"


def report_callback(trial: Trial, monitor: str, checkpoint: bool = True) -> Any:
    """A Lightning callback: an epoch is a step, and ``monitor`` the metric that is tuned.

    It saves a checkpoint of the trainer before each report; continue with ``trainer.fit(...,
    ckpt_path=checkpoint(trial))``. With ``checkpoint=False`` it saves none, and a trial that was paused starts over
    and pays for its steps again.
    """

    class Reporting(framework("lightning.pytorch", "lightning").Callback):  # type: ignore[misc]
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            warn_if_not_loaded(trial)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if checkpoint:
                trainer.save_checkpoint(trial.directory / _FILE)
            report_measured(trial, trainer.callback_metrics, monitor)

    return Reporting()


def checkpoint(trial: Trial) -> str | None:
    """The checkpoint to continue a trial from, for ``trainer.fit(..., ckpt_path=...)``; None for a new trial."""
    return find_saved_file(trial, _FILE)


def tuning_callback(tuning: OnlineTraining, apply: Callable[[Any, Any], None]) -> Any:
    """A Lightning callback: calls ``apply(module, config)`` before each batch, and measures after it if worth it.

    The tuner's state goes into the trainer's checkpoints.
    """

    class OnlineTuning(framework("lightning.pytorch", "lightning").Callback):  # type: ignore[misc]
        def on_train_batch_start(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
            apply(pl_module, tuning.begin())

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
            tuning.end()

        def state_dict(self) -> dict[str, Any]:
            return tuning.state_dict()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            tuning.load_state_dict(state_dict)

    return OnlineTuning()
