"""The plugin that Hydra finds: ``hydra/sweeper=shoestring``. Every program of Hydra imports it, so it stays light.

Hydra loads it in a way in which a dataclass cannot have annotations that are texts.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class ShoestringSweeperConf:
    """The options of the sweeper, in ``hydra.sweeper``; those of a study, and ``params``, the space."""

    _target_: str = "hydra_plugins.shoestring_sweeper.ShoestringSweeper"
    budget: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    method: str = "auto"
    mode: str = "min"
    max_resource: Any = None
    storage: str = "shoestring.db"
    name: Any = None
    seed: int = 0
    past: Any = None
    guess: Any = None
    workers: int = 1
    target: Any = None
    patience: Any = None
    retries: Any = None


class ShoestringSweeper(Sweeper):  # type: ignore[misc]
    """Runs the trials of a study as jobs of the launcher that is configured."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.hydra_context: HydraContext | None = None
        self.config: DictConfig | None = None
        self.launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        # Here because only a sweep needs them: the plugins are scanned whenever a program of Hydra starts.
        from shoestring.integrations.hydra_launches import HydraJob

        self.hydra_context, self.config, self.job = hydra_context, config, HydraJob(task_function)
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=self.job, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        from shoestring.integrations.hydra_sweep import sweep  # likewise

        sweep(self, arguments)


ConfigStore.instance().store("shoestring", ShoestringSweeperConf, group="hydra/sweeper", provider="shoestring")
