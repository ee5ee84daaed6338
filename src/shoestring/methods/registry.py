"""The names that ``method=`` takes, and how a method is written into a log and read back.

A method is a frozen dataclass of plain values (or of other such dataclasses), so its description
is its class and its fields.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from shoestring import samplers, schedulers
from shoestring.budget import Budget
from shoestring.errors import MethodError
from shoestring.method import Composed, Method, compose
from shoestring.methods import bayesian_optimization, bhpt, boss, forecast, freeze_thaw, random_search, rollout

_NAMED: dict[str, Callable[[], Method]] = {
    "random": lambda: compose(samplers.Random(), schedulers.Full()),
    "grid": lambda: compose(samplers.Grid(), schedulers.Full()),
    "latin-hypercube": lambda: compose(samplers.LatinHypercube(), schedulers.Full()),
    "tpe": lambda: compose(samplers.TPE(), schedulers.Full()),
    "cmaes": lambda: compose(samplers.CMAES(), schedulers.Full()),
    "gp": lambda: compose(samplers.GaussianProcess(), schedulers.Full()),
    "boes": lambda: compose(samplers.BOES(), schedulers.Full()),
    "sh": lambda: compose(samplers.Random(), schedulers.SuccessiveHalving()),
    "hyperband": lambda: compose(samplers.Random(), schedulers.Hyperband()),
    "asha": lambda: compose(samplers.Random(), schedulers.ASHA()),
    "asha-tpe": lambda: compose(samplers.TPE(), schedulers.ASHA()),
    "bohb": boss.BOHB,
    "ss": lambda: compose(samplers.Random(), schedulers.SubSampling()),
    "mss": lambda: compose(samplers.Random(), schedulers.ModifiedSubSampling()),
    "amss": lambda: compose(samplers.Random(), schedulers.AsyncSubSampling()),
    "boss": boss.BOSS,
    "pboss": boss.ParallelBOSS,
    "forecast": forecast.Forecast,
    "bhpt": bhpt.BHPT,
    "bhpt-eps": lambda: bhpt.BHPT(epsilon=0.5),
    "bhpt-kgm": lambda: bhpt.BHPT(rule="kgm"),
    "freeze-thaw": freeze_thaw.FreezeThaw,
    "rollout": rollout.Rollout,
    "gp-ei": bayesian_optimization.BayesianOptimization,
}

# Beyond so many evaluations a quick sampler is preferred: the models' time would add up.
_MANY = 1000

_CLASSES: dict[str, type] = {
    **{name: getattr(samplers, name) for name in samplers.__all__},
    **{name: getattr(schedulers, name) for name in schedulers.__all__},
    **{kind.__name__: kind for kind in (Composed, boss.BOHB, boss.BOSS, boss.ParallelBOSS, forecast.Forecast)},
    "BHPT": bhpt.BHPT,
    "BayesianOptimization": bayesian_optimization.BayesianOptimization,
    "FreezeThaw": freeze_thaw.FreezeThaw,
    "RandomSearch": random_search.RandomSearch,
    "Rollout": rollout.Rollout,
}


def names() -> list[str]:
    """All names that ``method=`` takes.

    >>> from shoestring.methods import names
    >>> "asha" in names()
    True
    """
    return [*_NAMED, "auto"]


def named(name: str) -> Method:
    """The method of a name."""
    if name not in _NAMED:
        near = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise MethodError(f"there is no method {name!r}; {hint}Known are {', '.join(names())}")
    return _NAMED[name]()


def auto(budget: Budget, max_resource: int | None) -> tuple[Method, str]:
    """A method for what is given, and one line that says which and why."""
    if max_resource is None or max_resource == 1:
        many = min(budget.evaluations or math.inf, budget.steps or math.inf)
        if _MANY < many < math.inf:
            return named("tpe"), f"auto picked tpe: {budget} is enough to learn from without a dear model"
        return named("boes"), "auto picked boes: the objective gives one reading a trial, so only what to try matters"
    return named("forecast"), (
        f"auto picked forecast: trials can be stopped early (up to {max_resource} steps each), "
        f"so {budget} goes to those whose curves promise most"
    )


def described(method: object) -> dict[str, Any]:
    """A method as plain JSON values; one of the user's own by its class name only."""
    if not is_dataclass(method) or _CLASSES.get(type(method).__name__) is not type(method):
        return {"class": f"{type(method).__module__}:{type(method).__qualname__}"}
    values = {f.name: getattr(method, f.name) for f in fields(method)}
    return {
        "class": type(method).__name__,
        **{
            name: described(value) if hasattr(value, "propose") or hasattr(value, "next") else _as_json(value)
            for name, value in values.items()
        },
    }


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def rebuilt(description: Mapping[str, Any]) -> Any:
    """The method of a description; None if it is one of the user's own."""
    kind = _CLASSES.get(str(description.get("class")))
    if kind is None:
        return None
    values = {
        name: rebuilt(value) if isinstance(value, Mapping) and "class" in value else value
        for name, value in description.items()
        if name != "class"
    }
    if any(value is None and description[name] is not None for name, value in values.items()):
        return None
    try:
        return kind(**values)
    except TypeError as error:
        raise MethodError(
            f"the log's method {dict(description)!r} cannot be rebuilt by this version: {error}"
        ) from None
