"""Rules in words, for active parameters and forbidden combinations; they become ConfigSpace's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from shoestring.errors import SpaceError
from shoestring.spaces.codec import Codec, in_words, is_forbidden, is_legal
from shoestring.spaces.configspace import ConfigSpace

_COMPARISON = re.compile(r"\s*(\S+)\s*(<=|>=|==|!=|<|>)\s*(\S+)\s*")
# How many configurations are drawn to find one that no rule forbids.
_DRAWS = 10_000


@dataclass(frozen=True)
class When:
    parameters: tuple[str, ...]
    comparisons: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Forbid:
    comparisons: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)


Rule = When | Forbid


def when(parameters: str | Sequence[str], *comparisons: str, **values: Any) -> When:
    """The ``parameters`` are active only when another one has a value, one of a list, or compares to a number.

    If several things are named, all must hold. If a parameter has several ``when``, one of them must hold.

    >>> import shoestring as ss
    >>> space = ss.space(
    ...     ss.when(["svc_c", "kernel"], classifier="SVC"),
    ...     ss.when("dropout", "layers > 1", classifier=["MLP", "CNN"]),
    ...     classifier=["SVC", "MLP", "CNN"], svc_c=ss.log(1e-3, 1e3), kernel=["rbf", "poly"],
    ...     layers=(1, 3), dropout=(0.0, 0.5),
    ... )
    >>> len(space.conditions)
    3
    """
    names = (parameters,) if isinstance(parameters, str) else _as_names(parameters)
    if not names or not (comparisons or values):
        raise SpaceError("write which parameters are active, and when: ss.when('svc_c', classifier='SVC')")
    return When(names, comparisons, values)


def _as_names(given: object) -> tuple[str, ...]:
    """The parameters of a rule; a range in their place is a mistake that other libraries invite."""
    names = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise SpaceError(
            f"ss.when() got {given!r} where the name of a parameter belongs: give the name here and its range in the "
            "space, ss.space(ss.when('svc_c', classifier='SVC'), svc_c=ss.log(1e-3, 1e3), classifier=[...])"
        )
    return names


def forbid(*comparisons: str, **values: Any) -> Forbid:
    """A combination that is never tried: parameters that have a value (or one of a list), or compare to each other.

    If several things are named, the combination of all of them is forbidden.

    >>> import shoestring as ss
    >>> space = ss.space(
    ...     ss.forbid("warmup > epochs"),
    ...     ss.forbid(optimizer="adam", nesterov=True),
    ...     warmup=(1, 20), epochs=(1, 100), optimizer=["sgd", "adam"], nesterov=[False, True],
    ... )
    >>> len(space.forbidden_clauses)
    2
    """
    if not comparisons and not values:
        raise SpaceError("write what is forbidden: ss.forbid('warmup > epochs'), ss.forbid(optimizer='adam', eps=0)")
    return Forbid(comparisons, values)


def add_rules(space: ConfigSpace.ConfigurationSpace, rules: Iterable[Rule]) -> ConfigSpace.ConfigurationSpace:
    """A space with these rules."""
    space = deepcopy(space)  # parameters of the user's own are not changed
    wanted, clauses = list(rules), list[Any]()
    try:
        conditions = _conditions(space, [rule for rule in wanted if isinstance(rule, When)])
        if conditions:
            space.add(conditions)
        for rule in wanted:
            if isinstance(rule, Forbid):
                clauses += _clauses(space, rule)
        return _with_clauses(space, clauses) if clauses else space
    except SpaceError:
        raise
    except Exception as error:  # ConfigSpace raises what it raises
        raise SpaceError(f"the rules {wanted} cannot be added to the space: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the message of ConfigSpace; it has none for a cycle."""
    return str(error) or {"CyclicDependancyError": "they form a circle"}.get(type(error).__name__, repr(error))


def _conditions(space: ConfigSpace.ConfigurationSpace, rules: Sequence[When]) -> list[Any]:
    by_child: dict[str, list[Any]] = {}
    for rule in rules:
        for child in rule.parameters:
            parts = [_equals(space, child, parent, value) for parent, value in rule.values.items()]
            parts += [_comparison(space, child, text) for text in rule.comparisons]
            by_child.setdefault(child, []).append(_join(parts, ConfigSpace.AndConjunction))
    return [_join(each, ConfigSpace.OrConjunction) for each in by_child.values()]


def _join(parts: list[Any], conjunction: Callable[..., Any]) -> Any:
    return parts[0] if len(parts) == 1 else conjunction(*parts)


def _equals(space: ConfigSpace.ConfigurationSpace, child: str, parent: str, value: Any) -> Any:
    own, other = _parameter(space, child), _parameter(space, parent)
    for each in value if isinstance(value, list) else [value]:
        _check_value(other, each)
    if isinstance(value, list):
        return ConfigSpace.InCondition(own, other, value)
    return ConfigSpace.EqualsCondition(own, other, value)


def _comparison(space: ConfigSpace.ConfigurationSpace, child: str, text: str) -> Any:
    left, sign, right = _parts(text)
    own, parent = _parameter(space, child), _parameter(space, left)
    value = _value(parent, right, text)
    kinds: dict[str, Callable[..., Any]] = {
        "==": ConfigSpace.EqualsCondition,
        "!=": ConfigSpace.NotEqualsCondition,
        "<": ConfigSpace.LessThanCondition,
        ">": ConfigSpace.GreaterThanCondition,
    }
    if sign in kinds:
        return kinds[sign](own, parent, value)
    strict, equal = kinds[sign[0]](own, parent, value), ConfigSpace.EqualsCondition(own, parent, value)
    return ConfigSpace.OrConjunction(strict, equal)


def _clauses(space: ConfigSpace.ConfigurationSpace, rule: Forbid) -> list[Any]:
    """The clauses of a rule: several, where a comparison such as >= is made of two."""
    sides = [_relations(space, text) for text in rule.comparisons]
    for name, value in rule.values.items():
        other = _parameter(space, name)
        for each in value if isinstance(value, list) else [value]:
            _check_value(other, each)
        one = ConfigSpace.ForbiddenInClause if isinstance(value, list) else ConfigSpace.ForbiddenEqualsClause
        sides.append([one(other, value)])
    return [_join(list(parts), ConfigSpace.ForbiddenAndConjunction) for parts in product(*sides)]


def _relations(space: ConfigSpace.ConfigurationSpace, text: str) -> list[Any]:
    left, sign, right = _parts(text)
    if left in space and right not in space and _is_number(right):
        raise SpaceError(
            f"{text!r} compares a parameter to a number, and ss.forbid compares two parameters: make the range of "
            f"{left!r} smaller, or name the values: ss.forbid({left}=[...])"
        )
    first, second = _parameter(space, left), _parameter(space, right)
    kinds: dict[str, Callable[..., Any]] = {
        "==": ConfigSpace.ForbiddenEqualsRelation,
        "<": ConfigSpace.ForbiddenLessThanRelation,
        ">": ConfigSpace.ForbiddenGreaterThanRelation,
    }
    if sign == "!=":
        raise SpaceError(f"{text!r} would leave only equal values: give one parameter instead of two")
    signs = [sign] if sign in kinds else [sign[0], "=="]
    return [kinds[one](first, second) for one in signs]


def _parts(text: str) -> tuple[str, str, str]:
    match = _COMPARISON.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SpaceError(f"{text!r} is not a comparison; write two names, or a name and a number: 'warmup > epochs'")
    left, sign, right = match.groups()
    return left, sign, right


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parameter(space: ConfigSpace.ConfigurationSpace, name: str) -> Any:
    if name not in space:
        raise SpaceError(f"a rule names {name!r}, which is not a parameter of the space; it has {', '.join(space)}")
    return space[name]


def _value(parent: Any, text: str, comparison: str) -> Any:
    """The number in a comparison, or a choice of the parameter by its name."""
    for read in (int, float, str):
        try:
            value: Any = read(text)
        except ValueError:
            continue
        if parent.legal_value(value):
            return value
    raise SpaceError(f"{text!r} in {comparison!r} is not a value of the parameter {parent.name!r}: {in_words(parent)}")


def _check_value(parent: Any, value: Any) -> None:
    if not is_legal(parent, value):
        raise SpaceError(
            f"a rule gives the parameter {parent.name!r} the value {value!r}, outside of {in_words(parent)}"
        )


def _with_clauses(space: ConfigSpace.ConfigurationSpace, clauses: list[Any]) -> ConfigSpace.ConfigurationSpace:
    """The space with forbidden clauses; ConfigSpace wants a default configuration that they allow."""
    codec, rng = Codec(space), np.random.default_rng(0)
    drawn = (_round(codec.sample(rng)) for _ in range(_DRAWS))
    allowed = (config for config in drawn if not any(is_forbidden(clause, config) for clause in clauses))
    default = next((config for config in allowed if codec.fits(config)), None)
    if default is None:
        raise SpaceError(f"{_DRAWS:,} random configurations were all forbidden: the rules leave almost nothing")
    for name, value in default.items():
        if hasattr(space[name], "default_value"):
            space[name].default_value = value
    space.add(clauses)
    return space


def _round(config: Mapping[str, Any]) -> dict[str, Any]:
    """ConfigSpace rounds what it reads to some digits; a default of few digits stays what it is."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in config.items()}
