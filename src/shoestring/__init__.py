"""shoestring: hyper-parameter tuning on a budget.

Every evaluation of a model costs. shoestring decides what to try, how long to run it and when to observe it, so
that a fixed budget buys the best model it can.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from shoestring import (
        augment as augment,
        errors as errors,
        executors as executors,
        methods as methods,
        online as online,
        problems as problems,
        samplers as samplers,
        schedulers as schedulers,
    )
    from shoestring.core.budget import Budget as Budget
    from shoestring.core.composition import compose as compose
    from shoestring.core.grants import Grant as Grant
    from shoestring.core.readings import Reading as Reading
    from shoestring.executors.base import Trial as Trial
    from shoestring.spaces.definition import log as log, space as space
    from shoestring.study import Study as Study
    from shoestring.tuning import tune as tune

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "augment": "augment",
        "errors": "errors",
        "executors": "executors",
        "methods": "methods",
        "online": "online",
        "problems": "problems",
        "samplers": "samplers",
        "schedulers": "schedulers",
        "core.budget": "Budget",
        "core.composition": "compose",
        "core.grants": "Grant",
        "core.readings": "Reading",
        "executors.base": "Trial",
        "spaces.definition": "log space",
        "study": "Study",
        "tuning": "tune",
    },
)
