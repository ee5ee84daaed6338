"""Online tuning as a Lightning callback: one training batch is one round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoestring.integrations.training import OnlineTraining


def tuning_callback(tuning: OnlineTraining, apply: Callable[[Any, Any], None]) -> Any:
    """A Lightning callback: calls ``apply(module, config)`` before each batch, and measures after it if worth it.

    The tuner's state goes into the trainer's checkpoints.
    """
    from lightning.pytorch import Callback  # type: ignore[import-not-found, unused-ignore]

    class OnlineTuning(Callback):  # type: ignore[misc, unused-ignore]
        def on_train_batch_start(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
            apply(pl_module, tuning.begin())

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any) -> None:
            tuning.end()

        def state_dict(self) -> dict[str, Any]:
            return tuning.state_dict()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            tuning.load_state_dict(state_dict)

    return OnlineTuning()
