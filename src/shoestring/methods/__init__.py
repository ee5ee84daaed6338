"""Methods: what to try and for how long, decided together; and every method by name."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.methods.baselines.bayesian_optimization import BayesianOptimization
    from shoestring.methods.baselines.freeze_thaw import FreezeThaw
    from shoestring.methods.baselines.random_search import RandomSearch
    from shoestring.methods.baselines.rollout import Rollout
    from shoestring.methods.bhpt import BHPT
    from shoestring.methods.boss import BOHB, BOSS
    from shoestring.methods.forecast import Forecast
    from shoestring.methods.parallel_boss import ParallelBOSS
    from shoestring.methods.registry import named, names, register

__all__ = [
    "BHPT",
    "BOHB",
    "BOSS",
    "BayesianOptimization",
    "Forecast",
    "FreezeThaw",
    "ParallelBOSS",
    "RandomSearch",
    "Rollout",
    "named",
    "names",
    "register",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BHPT": "bhpt",
        "BOHB": "boss",
        "BOSS": "boss",
        "BayesianOptimization": "baselines.bayesian_optimization",
        "Forecast": "forecast",
        "FreezeThaw": "baselines.freeze_thaw",
        "ParallelBOSS": "parallel_boss",
        "RandomSearch": "baselines.random_search",
        "Rollout": "baselines.rollout",
        "named": "registry",
        "names": "registry",
        "register": "registry",
    },
)
