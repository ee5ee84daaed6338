"""Build one parameter of a space from the short ways to write it, as ConfigSpace's own.

=========================== ==================================================================
``(low, high)``             a range; two integers give integers
``log(low, high)``          a range on a logarithmic scale
``guess(spec, value)``      any of these with a value that has worked before
``ints(low, high, step=4)`` integers in steps, optionally on a logarithmic scale
``range(16, 257, 16)``      the same, as Python writes it
a list                      a choice; tuples in it stay tuples
a NumPy array               its values: ordered if they increase, otherwise a choice
a distribution of SciPy     ``uniform``, ``loguniform``, ``randint`` and ``norm``
any other plain value       a constant
a ConfigSpace parameter     itself
=========================== ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

from shoestring.errors import SpaceError, brief
from shoestring.spaces.configspace import ConfigSpace

# The values of a range in steps are listed in the log, so there may not be too many.
_MOST_VALUES = 10_000
# A normal distribution is cut off this many standard deviations from its mean: spaces are bounded.
_NORMAL_WIDTH = 3.0


@dataclass(frozen=True)
class LogRange:
    low: float
    high: float
    guess: Any = None


@dataclass(frozen=True)
class IntRange:
    low: int
    high: int
    step: int = 1
    log: bool = False
    guess: Any = None


@dataclass(frozen=True)
class Guessed:
    spec: Any
    guess: Any


def log(low: float, high: float, *, guess: float | None = None) -> LogRange:
    """A range from ``low`` to ``high`` that is searched on a logarithmic scale; two integers give integers.

    ``guess`` is a value that has worked before: it is tried first, next to random ones.

    >>> import shoestring as ss
    >>> ss.space(lr=ss.log(1e-4, 1.0))["lr"].log
    True
    """
    return LogRange(low, high, guess)


def ints(low: int, high: int, *, step: int = 1, log: bool = False, guess: int | None = None) -> IntRange:
    """Integers from ``low`` to ``high``, both included, in steps of ``step``; on a logarithmic scale with ``log``.

    ``guess`` is a value that has worked before: it is tried first, next to random ones.

    >>> import shoestring as ss
    >>> ss.space(width=ss.ints(16, 64, step=16))["width"].sequence
    (16, 32, 48, 64)
    """
    return IntRange(low, high, step, log, guess)


def guess(spec: Any, value: Any) -> Guessed:
    """A parameter with a value that has worked before: it is tried first, next to random ones.

    ``spec`` is the parameter in any of the short forms, and ``value`` one of its values.

    >>> import shoestring as ss
    >>> space = ss.space(momentum=ss.guess((0.0, 0.99), 0.9), act=ss.guess(["relu", "tanh"], "relu"))
    >>> study = ss.Study(space, budget="9 evaluations")
    >>> study.ask().config
    {'act': 'relu', 'momentum': 0.9}
    """
    return Guessed(spec, value)


def guess_in(own: Any) -> tuple[Any, ...]:
    """The guess that a parameter was written with, alone in a tuple; empty without one."""
    meta = own.meta or {}
    return (meta["guess"],) if "guess" in meta else ()


def parameter(name: str, spec: Any) -> Any:
    """The ConfigSpace parameter of a short form."""
    try:
        if isinstance(spec, Guessed):
            return _with_guess(parameter(name, spec.spec), spec.guess)
        own = _parameter(name, spec)
        written = getattr(spec, "guess", None)
        return own if written is None else _with_guess(own, written)
    except SpaceError:
        raise
    except Exception as error:  # ConfigSpace raises what it raises
        raise SpaceError(
            f"parameter {name!r} is {brief(spec)}, which is not a range, choice or constant ({error}); "
            "write (low, high), ss.log(low, high), ss.ints(low, high, step=...), a list of choices or one value"
        ) from None


def _with_guess(own: Any, value: Any) -> Any:
    """A parameter that knows the user's guess; it is not part of the space that a log stores."""
    own = copy(own)
    own.meta = {**(own.meta or {}), "guess": value}
    return own


def _parameter(name: str, spec: Any) -> Any:
    if isinstance(spec, ConfigSpace.hyperparameters.Hyperparameter):
        if spec.name != name:
            raise ValueError(f"it calls itself {spec.name!r}")
        return spec
    if isinstance(spec, list):
        if not spec:
            raise ValueError("a choice needs at least one value")
        if any(getattr(value, "ndim", 0) for value in spec):
            raise ValueError("a choice cannot be an array: give it as a tuple, array.tolist(), or by a name")
        return ConfigSpace.CategoricalHyperparameter(name, spec)
    if isinstance(spec, range):
        return _ordinal(name, spec) if abs(spec.step) > 1 else _range_in_steps(name, IntRange(min(spec), max(spec)))
    if isinstance(spec, IntRange):
        return _range_in_steps(name, spec)
    if isinstance(spec, (tuple, LogRange)):
        return _range(name, spec)
    if hasattr(spec, "dist") and hasattr(spec, "support"):
        return _distribution(name, spec)
    if getattr(spec, "ndim", 0):
        return _array(name, spec)
    return ConfigSpace.Constant(name, _constant(spec))


def _range(name: str, spec: Any) -> Any:
    low, high = _pair((spec.low, spec.high) if isinstance(spec, LogRange) else spec)
    logarithmic = isinstance(spec, LogRange)
    if logarithmic and low <= 0:
        raise ValueError("the low end of a logarithmic scale must be above 0")
    if isinstance(low, Integral) and isinstance(high, Integral):
        return ConfigSpace.Integer(name, (int(low), int(high)), log=logarithmic)
    return ConfigSpace.Float(name, (float(low), float(high)), log=logarithmic)


def _pair(spec: tuple[Any, ...]) -> tuple[float, float]:
    if len(spec) != 2 or any(isinstance(end, (bool, str)) for end in spec):
        raise TypeError("a pair of numbers was expected; choices are a list")
    low, high = spec
    if not low < high:
        raise ValueError("the low end must be below the high end")
    if not math.isfinite(high - low):
        raise ValueError("a range must be finite")
    return low, high


def _range_in_steps(name: str, spec: IntRange) -> Any:
    for part, least in (("low", None), ("high", None), ("step", 1)):
        value = getattr(spec, part)
        if not isinstance(value, Integral) or isinstance(value, bool) or (least is not None and value < least):
            raise ValueError(f"{part} is {value!r}; it must be a whole number" + (" from 1" if least else ""))
    if spec.high < spec.low or (spec.log and spec.low < 1):
        raise ValueError("the low end must not be above the high end" if spec.high < spec.low else "log needs low >= 1")
    if spec.step > 1:
        return _ordinal(name, range(int(spec.low), int(spec.high) + 1, int(spec.step)), spec.log)
    if spec.low == spec.high:
        return ConfigSpace.Constant(name, int(spec.low))
    return ConfigSpace.Integer(name, (int(spec.low), int(spec.high)), log=spec.log)


def _ordinal(name: str, values: Sequence[Any], logarithmic: bool = False) -> Any:
    """Values in their order; ``meta`` says that their logarithms are what counts."""
    if not values:
        raise ValueError("it has no value")
    if len(values) > _MOST_VALUES:
        raise ValueError(f"it has {len(values):,} values, more than {_MOST_VALUES:,}; give a plain range instead")
    if len(values) == 1:
        return ConfigSpace.Constant(name, values[0])
    return ConfigSpace.OrdinalHyperparameter(name, sorted(values), meta={"log": True} if logarithmic else None)


def _array(name: str, array: Any) -> Any:
    values = array.tolist()
    if array.ndim > 1:
        raise ValueError(f"an array of values has one dimension, this one has {array.ndim}")
    increasing = array.dtype.kind in "iuf" and all(a < b for a, b in pairwise(values))
    return _ordinal(name, values) if increasing else ConfigSpace.CategoricalHyperparameter(name, values)


def _distribution(name: str, frozen: Any) -> Any:
    """A frozen distribution of ``scipy.stats``, by what it says about itself."""
    kind = str(getattr(frozen.dist, "name", "?"))
    low, high = (float(end) for end in frozen.support())
    if kind == "norm":
        mean, spread = float(frozen.mean()), float(frozen.std())
        ends = (mean - _NORMAL_WIDTH * spread, mean + _NORMAL_WIDTH * spread)
        return ConfigSpace.Float(name, ends, distribution=ConfigSpace.Normal(mean, spread))
    if kind == "randint":
        return _range_in_steps(name, IntRange(int(low), int(high)))
    if kind == "uniform":
        return _range(name, (low, high))
    if kind in ("loguniform", "reciprocal") and math.isclose(float(frozen.median()), math.sqrt(low * high)):
        return _range(name, LogRange(low, high))
    raise ValueError(f"of SciPy's distributions, uniform, loguniform, randint and norm are known, not this {kind}")


def _constant(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise TypeError(f"a constant is a number, a text, a boolean or None, and this is a {type(value).__name__}")
    return value
