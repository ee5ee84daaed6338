"""Hugging Face Transformers: a callback of ``Trainer`` that reports evaluations to a trial."""

from __future__ import annotations

from typing import Any

from shoestring.errors import ReadingError
from shoestring.executors.base import Trial
from shoestring.integrations.reporting import framework, report_measured


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

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
            self.measured = metrics or {}
            if not control.should_save:
                self.report(args, state)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.measured:
                self.report(args, state)

        def report(self, args: Any, state: Any) -> None:
            measured, self.measured = self.measured, {}
            epochs = str(getattr(args.eval_strategy, "value", args.eval_strategy)) == "epoch"
            report_measured(trial, measured, monitor, round(state.epoch) if epochs else None)

    return Reporting()


def checkpoint(trial: Trial) -> str | None:
    """The newest checkpoint in ``trial.directory``, for ``trainer.train(resume_from_checkpoint=...)``; None if new."""
    utils = framework("transformers.trainer_utils", "transformers accelerate")
    found: str | None = utils.get_last_checkpoint(str(trial.directory))
    if trial.start and found is None:
        raise ReadingError(
            f"the trial continues after step {trial.start}, and its folder has no checkpoint: use the same "
            "save_strategy as eval_strategy"
        )
    return found
