"""Methods that decide what to try and how long at once, methods by name, and as plain values for a log."""

from shoestring.methods.bayesian_optimization import BayesianOptimization
from shoestring.methods.bhpt import BHPT
from shoestring.methods.boss import BOHB, BOSS, ParallelBOSS
from shoestring.methods.forecast import Forecast
from shoestring.methods.registry import auto, described, named, names, rebuilt

__all__ = [
    "BHPT",
    "BOHB",
    "BOSS",
    "BayesianOptimization",
    "Forecast",
    "ParallelBOSS",
    "auto",
    "described",
    "named",
    "names",
    "rebuilt",
]
