"""Optuna's distributions as a search space, and a search space as Optuna's distributions.

========================================= ========================================================
Optuna                                    here
========================================= ========================================================
``FloatDistribution(low, high, log)``     a real range
``FloatDistribution(low, high, step)``    its values in order
``IntDistribution(low, high, log)``       an integer range
``IntDistribution(low, high, step)``      its values in order
``CategoricalDistribution(choices)``      a choice
a distribution with one value             a constant
========================================= ========================================================

Optuna has no conditions, no forbidden combinations, no priors, and no order of values that are not evenly spaced;
:func:`distributions_of` names those that a space has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import space
from shoestring.spaces.parameters import ints, log

# A range in more steps than this is a plain range: all values of a range in steps are listed in the log.
_MOST_VALUES = 1000


def optuna_package() -> Any:
    """Import Optuna, or say how to install it."""
    try:
        return import_module("optuna")
    except ImportError as error:
        raise ImportError(f"this needs Optuna ({error}): pip install 'shoestring[optuna]'") from error


def space_of(distributions: Mapping[str, Any]) -> ConfigSpace.ConfigurationSpace:
    """The search space of Optuna's distributions."""
    return space({name: parameter_of(distribution) for name, distribution in distributions.items()})


def parameter_of(distribution: Any) -> Any:
    """One distribution in the short form of a parameter."""
    if hasattr(distribution, "choices"):
        choices = list(distribution.choices)
        return choices if len(choices) > 1 else choices[0]
    low, high = distribution.low, distribution.high
    if distribution.single():
        return low
    if _in_steps(distribution):
        return _values_in_order(distribution)
    if isinstance(low, int):
        return ints(low, high, log=distribution.log)
    return log(low, high) if distribution.log else (low, high)


def _in_steps(distribution: Any) -> bool:
    step = getattr(distribution, "step", None)
    if step is None or (isinstance(step, int) and step == 1):
        return False
    return bool((distribution.high - distribution.low) / step < _MOST_VALUES)


def _values_in_order(distribution: Any) -> Any:
    """The values of a range in steps, as an array: each is what Optuna makes of it."""
    return np.array(_values(distribution))


def _values(distribution: Any) -> list[Any]:
    low, high, step = (Decimal(str(end)) for end in (distribution.low, distribution.high, distribution.step))
    number = type(distribution.low)
    return [number(low + k * step) for k in range(int((high - low) / step) + 1)]


def own_value(distribution: Any, value: Any) -> Any:
    """A value of a parameter as :func:`space_of` has it: on the exact step, where there are steps."""
    if hasattr(distribution, "choices") or not _in_steps(distribution) or distribution.single():
        return value
    values = _values(distribution)
    place = round((value - distribution.low) / distribution.step)
    return values[min(max(place, 0), len(values) - 1)]


def distributions_of(given: ConfigSpace.ConfigurationSpace) -> tuple[dict[str, Any], list[str]]:
    """The distributions of a search space, and what of it they do not say, in words."""
    found, lost = {}, []
    for name, parameter in given.items():
        found[name], without = _distribution(parameter)
        lost += [f"{what} of {name!r}" for what in without]
    lost += [f"the condition {condition}" for condition in given.conditions]
    lost += [f"the rule {clause}" for clause in given.forbidden_clauses]
    return found, lost


def _distribution(parameter: Any) -> tuple[Any, list[str]]:
    kinds, optuna = ConfigSpace.hyperparameters, optuna_package().distributions
    if isinstance(parameter, ConfigSpace.Constant):
        return _choice([parameter.value])
    if isinstance(parameter, kinds.CategoricalHyperparameter):
        found, lost = _choice(parameter.choices)
        return found, [*lost, "the weights"] if parameter.weights is not None else lost
    if isinstance(parameter, kinds.OrdinalHyperparameter):
        return _space_evenly(parameter)
    uniform = isinstance(parameter, (kinds.UniformFloatHyperparameter, kinds.UniformIntegerHyperparameter))
    lost = [] if uniform else ["the prior"]
    if isinstance(parameter, kinds.IntegerHyperparameter):
        return optuna.IntDistribution(int(parameter.lower), int(parameter.upper), log=parameter.log), lost
    if not hasattr(parameter, "lower"):
        raise SpaceError(f"parameter {parameter.name!r} is a {type(parameter).__name__}, which Optuna cannot express")
    return optuna.FloatDistribution(float(parameter.lower), float(parameter.upper), log=parameter.log), lost


def _choice(choices: Any) -> tuple[Any, list[str]]:
    """A choice; lists and tuples are written as text, because a storage of Optuna's cannot hold them."""
    texts = [_as_optuna(choice) for choice in choices]
    lists = any(isinstance(choice, (list, tuple)) for choice in choices)
    found = optuna_package().distributions.CategoricalDistribution(texts)
    return found, ["the lists among the choices"] if lists else []


def _as_optuna(choice: Any) -> Any:
    plain = choice.item() if hasattr(choice, "item") else choice
    return repr(plain) if isinstance(plain, (list, tuple)) else plain


def config_for_optuna(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of ours with the values that the distributions have."""
    return {name: _as_optuna(value) for name, value in config.items()}


def _space_evenly(parameter: Any) -> tuple[Any, list[str]]:
    values = [value.item() if hasattr(value, "item") else value for value in parameter.sequence]
    optuna, lost = optuna_package().distributions, ["the order"]
    if all(type(value) in (int, float) for value in values):
        step = (values[-1] - values[0]) / (len(values) - 1)
        even = all(math.isclose(value, values[0] + k * step, abs_tol=1e-9 * step) for k, value in enumerate(values))
        lost = ["the logarithmic scale"] if (parameter.meta or {}).get("log") else []
        if even and all(type(value) is int for value in values):
            return optuna.IntDistribution(values[0], values[-1], step=round(step)), lost
        if even:
            exact = float(Decimal(str(values[1])) - Decimal(str(values[0])))
            return optuna.FloatDistribution(float(values[0]), float(values[-1]), step=exact), lost
    found, without = _choice(values)
    return found, [*without, *lost]
