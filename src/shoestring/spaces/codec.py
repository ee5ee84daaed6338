"""The one codec between the configurations of a space and the unit cube.

Models see configurations only through :class:`Codec`: one coordinate in [0, 1] for each parameter that can vary
(``axes.py``), NaN where a parameter is inactive.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.errors import SpaceError, brief
from shoestring.spaces.axes import Axis, axis_of, native
from shoestring.spaces.configspace import ConfigSpace

Config = dict[str, Any]


def deep_copy(config: Mapping[str, Any]) -> Config:
    """A configuration of one's own: changing it, or a list in it, changes nothing else."""
    own = dict(config)
    for name, value in own.items():
        if type(value) in (list, dict, tuple):
            own[name] = _copy(value)
    return own


def _copy(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_copy(part) for part in value)
    return deep_copy(value) if type(value) is dict else value


def is_legal(parameter: Any, value: Any) -> bool:
    """Return whether one value, not several, is in the range or among the choices of a parameter."""
    if getattr(value, "ndim", 0) or (hasattr(parameter, "lower") and not isinstance(value, Real)):
        return False  # ConfigSpace takes a list of numbers for several values
    try:
        legal = parameter.legal_value(value)
        return np.ndim(legal) == 0 and bool(legal)  # of a list that is not a choice it answers for each part
    except (TypeError, ValueError, OverflowError):  # a value that cannot even be compared
        return False


def in_words(parameter: Any) -> str:
    """The values of a parameter for a message.

    >>> import shoestring as ss
    >>> space = ss.space(rate=ss.log(1e-4, 1.0), layers=(1, 4), act=["relu", "tanh"])
    >>> [in_words(space[name]) for name in ("rate", "layers", "act")]
    ['0.0001 to 1.0', 'the whole numbers 1 to 4', "'relu', 'tanh'"]
    """
    if hasattr(parameter, "lower"):
        whole = "the whole numbers " if isinstance(parameter.lower, (int, np.integer)) else ""
        return f"{whole}{parameter.lower} to {parameter.upper}"
    values = getattr(parameter, "choices", None) or getattr(parameter, "sequence", None) or (parameter.value,)
    return brief(list(values), 200).strip("[]")


# Enumerating more combinations than this is refused: it would take longer than tuning.
_LARGEST_GRID = 200_000


class Codec:
    """The one translation between configurations and the unit cube.

    >>> import shoestring as ss
    >>> from shoestring.spaces.codec import Codec
    >>> codec = Codec(ss.space(lr=ss.log(1e-4, 1.0), act=["relu", "tanh"]))
    >>> codec.decode([0.75, 0.0])
    {'act': 'tanh', 'lr': 0.0001}
    >>> codec.encode({"act": "tanh", "lr": 0.01}).round(6)
    array([0.75, 0.5 ])
    """

    def __init__(self, space: ConfigSpace.ConfigurationSpace) -> None:
        self.space = space
        hyperparameters = list(space.values())
        self._constants = {h.name: h.value for h in hyperparameters if isinstance(h, ConfigSpace.Constant)}
        self.axes = [axis_of(h) for h in hyperparameters if not isinstance(h, ConfigSpace.Constant)]
        self.names = [axis.name for axis in self.axes]
        self._order = [h.name for h in hyperparameters]
        self._names = set(self._order)
        self._priors = [(i, axis.prior) for i, axis in enumerate(self.axes) if axis.prior is not None]
        self._index = {name: i for i, name in enumerate(self.names)}
        self._conditions = {name: list(space.parent_conditions_of[name]) for name in self._order}
        self._conditional = any(self._conditions.values())
        self._forbidden = list(space.forbidden_clauses)

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    @cached_property
    def choices(self) -> Codes:
        """Per coordinate, the number of unordered choices; 0 for an ordered one."""
        return np.array([axis.cells or 0 if axis.categorical else 0 for axis in self.axes], dtype=np.int64)

    @cached_property
    def cells(self) -> Codes:
        """Per coordinate, the number of its values; 0 for a real range."""
        return np.array([axis.cells or 0 for axis in self.axes], dtype=np.int64)

    def decode(self, point: Any) -> Config:
        """The configuration at a point of the cube; inactive parameters are left out."""
        config: Config = {}
        for name in self._order:
            if self._conditional and not self._active(name, config):
                continue
            index = self._index.get(name)
            if index is None:
                config[name] = self._constants[name]
            else:
                config[name] = self.axes[index].decode(float(point[index]))
        return config

    def encode(self, config: Mapping[str, Any]) -> Array:
        """The point of a configuration, NaN where a parameter is inactive."""
        return np.array([axis.encode(config[axis.name]) if axis.name in config else math.nan for axis in self.axes])

    def _active(self, name: str, config: Config) -> bool:
        return all(_satisfies(condition, config) for condition in self._conditions[name])

    def allowed(self, config: Config) -> bool:
        """Return whether no forbidden clause applies to a configuration."""
        return not any(is_forbidden(clause, config) for clause in self._forbidden)

    def fits(self, config: Config) -> bool:
        """Return whether this is surely a configuration of the space, by a quick check; ``check`` says more."""
        try:
            for axis in self.axes:
                if axis.name in config and not 0 <= axis.encode(config[axis.name]) <= 1:
                    return False
        except (TypeError, ValueError):
            return False
        if not self._conditional:
            return config.keys() == self._names
        return config.keys() == {name for name in self._order if self._active(name, config)}

    def without_inactive(self, config: Mapping[str, Any], names: Collection[str]) -> Config:
        """Drop the named parameters that are inactive from a configuration."""
        own = dict(config)
        for name in self._order:  # parents come first
            if name in names and not self._active(name, own):
                own.pop(name, None)
        return own

    def complete(self, config: Mapping[str, Any]) -> Config:
        """A configuration that a user gave, as the study keeps it: checked, with its constants, and of plain values."""
        own = {name: native(value) for name, value in config.items()}
        for axis in self.axes:
            if axis.name in own:
                own[axis.name] = axis.own_value(own[axis.name])
        for name, value in self._constants.items():
            if name not in own and self._active(name, own):
                own[name] = value
        self.check(own)
        if self.rows is not None and self.key(own) not in {self.key(row) for row in self.rows}:
            raise SpaceError(f"the configuration {own} is not a row of the table")
        return deep_copy({name: own[name] for name in self._order if name in own})

    def check_stored(self, config: Mapping[str, Any]) -> None:
        """Raise an error if a configuration of a log is not in the space; quick if it is."""
        if not self.fits(dict(config)):
            self.check(config)

    def check(self, config: Mapping[str, Any]) -> None:
        """Raise an error that names the parameter if this is not a configuration of the space."""
        unknown = [name for name in config if name not in self._order]
        if unknown:
            raise SpaceError(f"{unknown[0]!r} is not a parameter of the space; it has {', '.join(self._order)}")
        for name in self._order:
            active = self._active(name, dict(config))
            if active != (name in config):
                raise SpaceError(
                    f"parameter {name!r} is {'missing' if active else 'inactive here and must be left out'}"
                )
            if active and not is_legal(self.space[name], config[name]):
                raise SpaceError(
                    f"parameter {name!r} is {brief(config[name])}, outside of {in_words(self.space[name])}"
                )
        if not self.allowed(dict(config)):
            raise SpaceError(f"the configuration {dict(config)} is forbidden by the space")

    def sample_point(self, rng: np.random.Generator) -> Array:
        """A random point by the parameters' own priors (uniform unless the space says otherwise)."""
        point = rng.random(len(self.axes))
        for i, prior in self._priors:
            point[i] = prior(rng)
        return point

    def sample(self, rng: np.random.Generator) -> Config:
        """A random allowed configuration."""
        for _ in range(10_000):
            config = self.decode(self.sample_point(rng))
            if not self._forbidden or self.allowed(config):
                return config
        raise SpaceError("10,000 random configurations were all forbidden: the space's clauses leave almost nothing")

    @staticmethod
    def key(config: Mapping[str, Any]) -> Hashable:
        """Return a key that equal configurations share, whatever the order of their parameters."""
        try:
            return frozenset(config.items())
        except TypeError:  # a choice that is a list cannot be hashed
            return frozenset((name, _freeze(value)) for name, value in config.items())

    @cached_property
    def rows(self) -> list[Config] | None:
        """Return the pool of configurations, if the space belongs to a table."""
        rows = (self.space.meta or {}).get("rows")
        return None if rows is None else [dict(zip(self._order, row, strict=True)) for row in rows]

    @cached_property
    def row_points(self) -> Array:
        return np.array([self.encode(row) for row in self.rows or ()])

    @cached_property
    def finite(self) -> bool:
        """Return whether all configurations can be listed in reasonable time."""
        return self.rows is not None or (
            all(axis.cells for axis in self.axes) and math.prod(axis.cells or 0 for axis in self.axes) <= _LARGEST_GRID
        )

    @cached_property
    def everything(self) -> list[Config]:
        """All configurations of a finite space, in order."""
        return list(self.grid(2))

    @cached_property
    def uniform(self) -> bool:
        """Return whether configurations are drawn evenly from the whole cube: there are neither rows nor priors."""
        return self.rows is None and not self._priors

    def grid(self, resolution: int) -> Iterator[Config]:
        """All combinations, real ranges at ``resolution`` evenly spaced values, each once; a table's rows."""
        if self.rows is not None:
            yield from self.rows
            return
        sides = [_side(axis, resolution) for axis in self.axes]
        if math.prod(len(side) for side in sides) > _LARGEST_GRID:
            raise SpaceError(
                f"the grid has more than {_LARGEST_GRID:,} points: give a lower resolution, or use another sampler"
            )
        seen: set[Hashable] = set()
        for point in product(*sides):
            config = self.decode(np.array(point))
            key = self.key(config)
            if key not in seen and self.allowed(config):
                seen.add(key)
                yield config


def _side(axis: Axis, resolution: int) -> list[float]:
    if axis.cells is not None and (axis.categorical or axis.cells <= resolution or resolution <= 2):
        return [axis.centre(cell) for cell in range(axis.cells)]
    return [i / (resolution - 1) for i in range(resolution)] if resolution > 1 else [0.5]


def _satisfies(condition: Any, config: Config) -> bool:
    """A condition on an inactive parent does not hold."""
    if hasattr(condition, "components"):
        parts = (_satisfies(part, config) for part in condition.components)
        return any(parts) if type(condition).__name__ == "OrConjunction" else all(parts)
    return condition.parent.name in config and bool(condition.satisfied_by_value(config))


def is_forbidden(clause: Any, config: Config) -> bool:
    """A clause on an inactive parameter does not hold."""
    if hasattr(clause, "components"):
        return all(is_forbidden(part, config) for part in clause.components)
    names = [h.name for h in (getattr(clause, side, None) for side in ("hyperparameter", "left", "right")) if h]
    return all(name in config for name in names) and bool(clause.is_forbidden_value(config))


def _freeze(value: Any) -> Any:
    """A choice may be a list, which cannot be a key."""
    return tuple(_freeze(part) for part in value) if isinstance(value, (list, tuple)) else value
