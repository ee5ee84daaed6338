"""Build a search space from its parameters and rules, as ConfigSpace's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from shoestring.errors import SpaceError, brief
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.parameters import parameter
from shoestring.spaces.rules import Forbid, Rule, When, add_rules


def space(*parts: Any, **parameters: Any) -> ConfigSpace.ConfigurationSpace:
    """A search space from keyword arguments, and from rules such as :func:`when` and :func:`forbid`.

    A pair of numbers is a range (two integers: an integer range), ``log(low, high)`` a log range,
    ``ints(low, high, step=...)`` or a Python ``range`` integers in steps, a list a choice, a NumPy array its values, a
    frozen SciPy distribution a range with that prior, any ConfigSpace hyperparameter itself, and any other plain value
    a constant. Besides rules, the parts may be mappings of more parameters, where the last one
    with a name counts, or another space to start from.

    >>> import shoestring as ss
    >>> sorted(ss.space(lr=ss.log(1e-4, 1.0), layers=(1, 4), act=["relu", "tanh"]))
    ['act', 'layers', 'lr']
    >>> ss.space(ss.when("decay", optimizer="sgd"), optimizer=["sgd", "adam"], decay=(0.0, 0.1)).conditions
    [decay | optimizer == 'sgd']
    """
    result = ConfigSpace.ConfigurationSpace()
    rules: list[Rule] = []
    named: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, (When, Forbid)):
            rules.append(part)
        elif isinstance(part, ConfigSpace.ConfigurationSpace):
            _refuse_twice(result, part)
            result.add_configuration_space("", part, delimiter="")
        elif isinstance(part, Mapping):
            named.update(part)
        else:
            raise SpaceError(
                f"{part!r} is not a part of a space; write parameters as keywords, ss.space(lr=(0.0, 1.0)), and rules "
                "as ss.when(...) or ss.forbid(...)"
            )
    named.update(parameters)
    _refuse_twice(result, named)
    for name, spec in named.items():
        if isinstance(spec, (When, Forbid)):
            raise SpaceError(
                f"parameter {name!r} is a rule: give its range here and the rule before the parameters, "
                f"ss.space(ss.when({name!r}, ...), {name}=(0.0, 1.0), ...)"
            )
    result.add([parameter(name, spec) for name, spec in named.items()])
    return _check(add_rules(result, rules) if rules else result)


def _refuse_twice(result: ConfigSpace.ConfigurationSpace, names: Iterable[str]) -> None:
    if twice := [name for name in names if name in result]:
        raise SpaceError(f"parameter {twice[0]!r} is given twice: the space to start from has it already")


def as_space(given: Any) -> ConfigSpace.ConfigurationSpace:
    """A ConfigSpace from a ConfigSpace, a mapping of parameters, or something with a ``.space``."""
    if isinstance(given, ConfigSpace.ConfigurationSpace):
        return _check(given)
    if isinstance(given, Mapping):
        return space(given)
    if isinstance(getattr(given, "space", None), ConfigSpace.ConfigurationSpace):
        return _check(given.space)
    raise SpaceError(
        f"a search space was expected, {brief(given)} was given; "
        "write ss.space(lr=ss.log(1e-4, 1), act=['relu', 'tanh']) or pass a ConfigurationSpace"
    )


def _check(result: ConfigSpace.ConfigurationSpace) -> ConfigSpace.ConfigurationSpace:
    if not len(result):
        raise SpaceError("the search space is empty: give it at least one parameter, such as ss.space(lr=(0.0, 1.0))")
    for each in result.values():
        _check_values(each)
    if all(type(each).__name__ == "Constant" for each in result.values()):
        raise SpaceError(
            "every parameter of the search space is a constant: there is nothing to tune; "
            "write a range such as lr=(0.0, 1.0), or a list of choices"
        )
    return result


def _check_values(parameter: Any) -> None:
    """Choices must be values that JSON can hold, and that two configurations can be compared by."""
    values: Any = getattr(parameter, "choices", ()) or getattr(parameter, "sequence", ())
    for value in (*values, getattr(parameter, "value", None)):
        if not _is_plain(value):
            raise SpaceError(
                f"parameter {parameter.name!r} has the choice {brief(value)}; a choice is a finite number, a text, a "
                "boolean, None, or a list or tuple of these: give a name, and look up what it stands for in the "
                "objective"
            )
    low, high = getattr(parameter, "lower", 0), getattr(parameter, "upper", 0)
    if not math.isfinite(float(high) - float(low)):
        raise SpaceError(f"parameter {parameter.name!r} has the range {low} to {high}, which is not finite")


def _is_plain(value: Any) -> bool:
    if hasattr(value, "tolist") and not getattr(value, "ndim", 0):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, (int, float)):
        try:
            return math.isfinite(value)
        except OverflowError:  # an integer beyond all floating-point numbers
            return False
    return value is None or isinstance(value, str)
