"""A short way to write a search space; what it makes is ConfigSpace's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace


@dataclass(frozen=True)
class LogRange:
    low: float
    high: float


def log(low: float, high: float) -> LogRange:
    """A range that is searched on a logarithmic scale; two integers give integers.

    >>> import shoestring as ss
    >>> ss.space(lr=ss.log(1e-4, 1.0))["lr"].log
    True
    """
    return LogRange(low, high)


def space(**parameters: Any) -> ConfigSpace.ConfigurationSpace:
    """A search space from keyword arguments.

    A pair of numbers is a range (two integers: an integer range), ``log(low, high)`` a log range,
    a list a choice, and any ConfigSpace hyperparameter is taken as it is. A choice that is a tuple
    arrives as a list: the log holds JSON.

    >>> import shoestring as ss
    >>> sorted(ss.space(lr=ss.log(1e-4, 1.0), layers=(1, 4), act=["relu", "tanh"]))
    ['act', 'layers', 'lr']
    """
    return as_space(parameters)


def as_space(given: Any) -> ConfigSpace.ConfigurationSpace:
    """A ConfigSpace from a ConfigSpace, a mapping of parameters, or something with a ``.space``."""
    if isinstance(given, ConfigSpace.ConfigurationSpace):
        result = given
    elif isinstance(given, Mapping):
        result = ConfigSpace.ConfigurationSpace()
        result.add([_parameter(name, spec) for name, spec in given.items()])
    elif isinstance(getattr(given, "space", None), ConfigSpace.ConfigurationSpace):
        result = given.space
    else:
        raise SpaceError(
            f"a search space was expected, {given!r} was given; "
            "write ss.space(lr=ss.log(1e-4, 1), act=['relu', 'tanh']) or pass a ConfigurationSpace"
        )
    if not len(result):
        raise SpaceError("the search space is empty: give it at least one parameter, such as ss.space(lr=(0.0, 1.0))")
    if all(type(parameter).__name__ == "Constant" for parameter in result.values()):
        raise SpaceError("every parameter of the search space is a constant: there is nothing to tune")
    return result


def _parameter(name: str, spec: Any) -> Any:
    try:
        if isinstance(spec, ConfigSpace.hyperparameters.Hyperparameter):
            if spec.name != name:
                raise ValueError(f"it calls itself {spec.name!r}")
            return spec
        if isinstance(spec, list):
            if not spec:
                raise ValueError("a choice needs at least one value")
            return ConfigSpace.CategoricalHyperparameter(name, spec)
        low, high = (spec.low, spec.high) if isinstance(spec, LogRange) else _pair(spec)
        logarithmic = isinstance(spec, LogRange)
        if isinstance(low, Integral) and isinstance(high, Integral):
            return ConfigSpace.Integer(name, (int(low), int(high)), log=logarithmic)
        return ConfigSpace.Float(name, (float(low), float(high)), log=logarithmic)
    except Exception as error:  # ConfigSpace raises what it raises
        raise SpaceError(
            f"parameter {name!r} is {spec!r}, which is no range or choice ({error}); "
            "write (low, high), ss.log(low, high) or a list of choices"
        ) from None


def _pair(spec: Any) -> tuple[float, float]:
    if not isinstance(spec, tuple) or len(spec) != 2 or any(isinstance(end, (bool, str)) for end in spec):
        raise TypeError("a pair of numbers was expected")
    low, high = spec
    if not low < high:
        raise ValueError("the low end must be below the high end")
    return low, high
