"""shoestring: hyper-parameter tuning on a budget.

Every evaluation of a model costs. shoestring decides what to try, how long to run it and when to observe it, so
that a fixed budget buys the best model it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from shoestring import augment, errors, executors, methods, online, problems, samplers, schedulers
    from shoestring.core.budget import Budget
    from shoestring.core.composition import compose
    from shoestring.core.grants import Grant
    from shoestring.core.readings import Reading
    from shoestring.executors.base import Trial
    from shoestring.spaces.definition import log, space
    from shoestring.study import Study
    from shoestring.tuning import tune

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Budget": "core.budget",
        "Grant": "core.grants",
        "Reading": "core.readings",
        "Study": "study",
        "Trial": "executors.base",
        "compose": "core.composition",
        "log": "spaces.definition",
        "space": "spaces.definition",
        "tune": "tuning",
        **{part: part for part in __all__ if part.islower() and part not in ("compose", "log", "space", "tune")},
    },
)
