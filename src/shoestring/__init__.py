"""shoestring: hyper-parameter tuning on a budget.

Every evaluation of a model costs. shoestring decides what to try, how long to run it and when to observe it, so
that a fixed budget buys the best model it can.
"""

import logging
from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names
from shoestring._text import EscapeRecords

__version__ = "0.2.0"

logging.getLogger("shoestring").addFilter(EscapeRecords())

if TYPE_CHECKING:
    from shoestring import (
        augment as augment,
        errors as errors,
        executors as executors,
        hydra as hydra,
        loggers as loggers,
        methods as methods,
        online as online,
        plots as plots,
        problems as problems,
        samplers as samplers,
        schedulers as schedulers,
    )
    from shoestring.core.budget import Budget as Budget
    from shoestring.core.composition import compose as compose
    from shoestring.core.grants import Grant as Grant
    from shoestring.core.known import warm_start as warm_start
    from shoestring.core.readings import Reading as Reading
    from shoestring.exchange.optuna_objective import space_from as space_from
    from shoestring.integrations.sklearn import BudgetSearchCV as BudgetSearchCV
    from shoestring.objectives.command.definition import Command as Command
    from shoestring.objectives.trial import Trial as Trial
    from shoestring.spaces.definition import space as space
    from shoestring.spaces.parameters import guess as guess, ints as ints, log as log
    from shoestring.spaces.rules import forbid as forbid, when as when
    from shoestring.study import Study as Study
    from shoestring.tuning import tune as tune

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "augment": "augment",
        "errors": "errors",
        "executors": "executors",
        "hydra": "hydra",
        "loggers": "loggers",
        "methods": "methods",
        "online": "online",
        "plots": "plots",
        "problems": "problems",
        "samplers": "samplers",
        "schedulers": "schedulers",
        "core.budget": "Budget",
        "core.composition": "compose",
        "core.grants": "Grant",
        "core.known": "warm_start",
        "core.readings": "Reading",
        "objectives.trial": "Trial",
        "objectives.command.definition": "Command",
        "exchange.optuna_objective": "space_from",
        "integrations.sklearn": "BudgetSearchCV",
        "spaces.definition": "space",
        "spaces.parameters": "guess ints log",
        "spaces.rules": "forbid when",
        "study": "Study",
        "tuning": "tune",
    },
)
