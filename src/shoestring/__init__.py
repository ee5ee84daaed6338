"""shoestring: hyper-parameter tuning on a budget.

Every look at a model costs. shoestring decides what to try, how long to run it and when to look, so
that a fixed budget buys the best model it can.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoestring import augment, errors, executors, methods, online, problems, samplers, schedulers
    from shoestring.budget import Budget
    from shoestring.events import Reading
    from shoestring.executors.base import Trial
    from shoestring.granting import Grant
    from shoestring.method import compose
    from shoestring.spaces import log, space
    from shoestring.study import Study
    from shoestring.tuning import tune

# Loaded when first used: numpy, ConfigSpace and the like take longer to import than many a study to open.
_HOMES = {
    "Budget": "shoestring.budget",
    "Grant": "shoestring.granting",
    "Reading": "shoestring.events",
    "Study": "shoestring.study",
    "Trial": "shoestring.executors.base",
    "compose": "shoestring.method",
    "log": "shoestring.spaces",
    "space": "shoestring.spaces",
    "tune": "shoestring.tuning",
}
_PARTS = ("augment", "errors", "executors", "methods", "online", "problems", "samplers", "schedulers")

__all__ = [
    "Budget",
    "Grant",
    "Reading",
    "Study",
    "Trial",
    "augment",
    "compose",
    "errors",
    "executors",
    "log",
    "methods",
    "online",
    "problems",
    "samplers",
    "schedulers",
    "space",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _PARTS:
        value = import_module(f"shoestring.{name}")
    else:
        raise AttributeError(f"module 'shoestring' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
