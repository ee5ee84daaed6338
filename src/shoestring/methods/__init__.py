"""Methods that decide what to try and how long at once, methods by name, and as plain values for a log."""

from shoestring.methods.bayesian_optimization import BayesianOptimization
from shoestring.methods.bhpt import BHPT
from shoestring.methods.boss import BOHB, BOSS, ParallelBOSS
from shoestring.methods.forecast import Forecast
from shoestring.methods.freeze_thaw import FreezeThaw
from shoestring.methods.random_search import RandomSearch
from shoestring.methods.registry import auto, described, named, names, rebuilt
from shoestring.methods.rollout import Rollout

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
    "auto",
    "described",
    "named",
    "names",
    "rebuilt",
]
