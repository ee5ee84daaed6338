"""Hugging Face Transformers: a callback of ``Trainer`` that reports evaluations to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.errors import ReadingError
from shoestring.integrations.measurements import framework, note_checkpoint_request, report_measured, warn_if_not_loaded
from shoestring.objectives.trial import Trial


def report_callback(trial: Trial, monitor: str = "eval_loss") -> Any:
    """A callback of ``Trainer``: an evaluation is a step, and ``monitor`` the metric that is tuned.

    The trainer saves its own checkpoints: give ``TrainingArguments`` the folder ``trial.directory`` as
    ``output_dir``, and the same ``save_strategy`` as ``eval_strategy``. Then a report waits until its checkpoint is
    saved, and ``trainer.train(resume_from_checkpoint=checkpoint(trial))`` continues. Without checkpoints a trial that
    was paused starts over and pays for its steps again.
    """

    class Reporting(framework("transformers", "transformers accelerate").TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.measured: dict[str, Any] = {}
            self.reported_at = 0  # how many optimiser steps had been made then

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            warn_if_not_loaded(trial)
            self.reported_at = state.global_step

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
            if state.global_step == self.reported_at:
                return  # nothing was trained since: an evaluation at the start (eval_on_start), or a second one
            self.measured, self.reported_at = metrics or {}, state.global_step
            if not control.should_save:
                self.report()

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.measured:
                self.report()

        def report(self) -> None:
            measured, self.measured = self.measured, {}
            report_measured(trial, measured, monitor)

    return Reporting()


def checkpoint(trial: Trial) -> str | None:
    """The newest checkpoint in ``trial.directory``, for ``trainer.train(resume_from_checkpoint=...)``; None if new."""
    utils = framework("transformers.trainer_utils", "transformers accelerate")
    note_checkpoint_request(trial)
    found: str | None = utils.get_last_checkpoint(str(trial.directory))
    if trial.start and found is None:
        raise ReadingError(
            f"the trial continues after step {trial.start}, and its folder has no checkpoint: use the same "
            "save_strategy as eval_strategy"
        )
    return found
