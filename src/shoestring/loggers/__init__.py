"""Loggers: callbacks that write the readings of a study to where experiments are tracked.

Give them to ``tune`` or ``Study.run`` as ``callbacks=[...]``. Each imports its library when the run starts to log.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.loggers.files import CSV as CSV
    from shoestring.loggers.mlflow import MLflow as MLflow
    from shoestring.loggers.tensorboard import TensorBoard as TensorBoard
    from shoestring.loggers.wandb import WandB as WandB

__all__, __getattr__, __dir__ = lazy_names(
    __name__, {"files": "CSV", "mlflow": "MLflow", "tensorboard": "TensorBoard", "wandb": "WandB"}
)
