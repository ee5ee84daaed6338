"""The search space: a short way to write one, and the one codec between it and the unit cube.

Spaces are ConfigSpace's own; conditions and forbidden clauses are too. Everything that models
configurations sees them through :class:`Codec`: one coordinate in [0, 1] per parameter that can
vary (``axes.py``), NaN where a parameter is inactive.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

from shoestring.axes import Axis, axis_of
from shoestring.errors import SpaceError

if TYPE_CHECKING:
    import numpy as np
    from ConfigSpace import ConfigurationSpace
    from numpy.typing import NDArray

Config = dict[str, Any]

# Enumerating more combinations than this is refused: it would take longer than tuning.
_LARGEST_GRID = 200_000


@dataclass(frozen=True)
class Log:
    low: float
    high: float


def log(low: float, high: float) -> Log:
    """A range that is searched on a logarithmic scale; two integers give integers.

    >>> import shoestring as ss
    >>> ss.space(lr=ss.log(1e-4, 1.0))["lr"].log
    True
    """
    return Log(low, high)


def space(**parameters: Any) -> ConfigurationSpace:
    """A search space from keyword arguments.

    A pair of numbers is a range (two integers: an integer range), ``log(low, high)`` a log range,
    a list a choice, and any ConfigSpace hyperparameter is taken as it is. A choice that is a tuple
    arrives as a list: the log holds JSON.

    >>> import shoestring as ss
    >>> sorted(ss.space(lr=ss.log(1e-4, 1.0), layers=(1, 4), act=["relu", "tanh"]))
    ['act', 'layers', 'lr']
    """
    return as_space(parameters)


def as_space(given: Any) -> ConfigurationSpace:
    """A ConfigSpace from a ConfigSpace, a mapping of parameters, or something with a ``.space``."""
    from ConfigSpace import ConfigurationSpace

    if isinstance(given, ConfigurationSpace):
        result = given
    elif isinstance(given, Mapping):
        result = ConfigurationSpace()
        result.add([_parameter(name, spec) for name, spec in given.items()])
    elif isinstance(getattr(given, "space", None), ConfigurationSpace):
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
    from ConfigSpace import CategoricalHyperparameter, Float, Integer
    from ConfigSpace.hyperparameters import Hyperparameter

    try:
        if isinstance(spec, Hyperparameter):
            if spec.name != name:
                raise ValueError(f"it calls itself {spec.name!r}")
            return spec
        if isinstance(spec, list):
            if not spec:
                raise ValueError("a choice needs at least one value")
            return CategoricalHyperparameter(name, spec)
        low, high = (spec.low, spec.high) if isinstance(spec, Log) else _pair(spec)
        logarithmic = isinstance(spec, Log)
        if isinstance(low, Integral) and isinstance(high, Integral):
            return Integer(name, (int(low), int(high)), log=logarithmic)
        return Float(name, (float(low), float(high)), log=logarithmic)
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


def differing_parameter(stored: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The first difference between two serialised spaces, in words; None if they are the same."""
    ours, theirs = ({p["name"]: p for p in s.get("hyperparameters", ())} for s in (stored, given))
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        if name not in theirs:
            return f"parameter {name!r} is in the stored study and not in the space given"
        if name not in ours:
            return f"parameter {name!r} is in the space given and not in the stored study"
        if ours[name] != theirs[name]:
            changes = [
                f"{key} was {ours[name].get(key)!r} and is now {theirs[name].get(key)!r}"
                for key in ours[name]
                if ours[name].get(key) != theirs[name].get(key)
            ]
            return f"parameter {name!r} differs: {'; '.join(changes)}"
    for part in ("conditions", "forbiddens", "meta"):
        if (stored.get(part) or None) != (given.get(part) or None):
            return f"the {'rows' if part == 'meta' else part} of the space differ"
    return None


def serialised(space: ConfigurationSpace) -> dict[str, Any]:
    """A space as plain JSON values, the same for the same space in any version of ConfigSpace's file."""
    body: dict[str, Any] = json.loads(json.dumps(space.to_serialized_dict(), default=_plain))
    rows = (space.meta or {}).get("rows")
    kept = {key: body.get(key) for key in ("hyperparameters", "conditions", "forbiddens")}
    return kept if rows is None else {**kept, "meta": {"rows": rows}}


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise SpaceError(f"{value!r} cannot be written as JSON: use numbers, text, booleans or None in a space")


def deserialised(body: Mapping[str, Any]) -> ConfigurationSpace:
    """The space that :func:`serialised` wrote."""
    from ConfigSpace import ConfigurationSpace

    full = {"name": None, "format_version": 0.4, **{k: v for k, v in body.items() if k != "meta"}}
    result = ConfigurationSpace.from_serialized_dict(deepcopy(full))  # it takes the dict apart
    result.meta = dict(body["meta"]) if body.get("meta") else {}
    return result


class Codec:
    """The one translation between configurations and the unit cube.

    >>> import shoestring as ss
    >>> from shoestring.spaces import Codec
    >>> codec = Codec(ss.space(lr=ss.log(1e-4, 1.0), act=["relu", "tanh"]))
    >>> codec.decode([0.75, 0.0])
    {'act': 'tanh', 'lr': 0.0001}
    >>> codec.encode({"act": "tanh", "lr": 0.01}).round(6)
    array([0.75, 0.5 ])
    """

    def __init__(self, space: ConfigurationSpace) -> None:
        from ConfigSpace.hyperparameters import Constant

        self.space = space
        hyperparameters = list(space.values())
        self._constants = {h.name: h.value for h in hyperparameters if isinstance(h, Constant)}
        self.axes = [axis_of(h) for h in hyperparameters if not isinstance(h, Constant)]
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
    def choices(self) -> NDArray[np.int64]:
        """Per coordinate, the number of unordered choices; 0 for an ordered one."""
        import numpy as np

        return np.array([axis.cells or 0 if axis.categorical else 0 for axis in self.axes], dtype=np.int64)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Per coordinate, the number of its values; 0 for a real range."""
        import numpy as np

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

    def encode(self, config: Mapping[str, Any]) -> NDArray[np.float64]:
        """The point of a configuration, NaN where a parameter is inactive."""
        import numpy as np

        return np.array([axis.encode(config[axis.name]) if axis.name in config else math.nan for axis in self.axes])

    def _active(self, name: str, config: Config) -> bool:
        return all(_satisfied(condition, config) for condition in self._conditions[name])

    def allowed(self, config: Config) -> bool:
        """Whether no forbidden clause speaks against a configuration."""
        return not any(_is_forbidden(clause, config) for clause in self._forbidden)

    def fits(self, config: Config) -> bool:
        """Whether this is surely a configuration of the space, by a quick look; ``check`` says what is wrong."""
        try:
            for axis in self.axes:
                if axis.name in config and not 0 <= axis.encode(config[axis.name]) <= 1:
                    return False
        except (TypeError, ValueError):
            return False
        if not self._conditional:
            return config.keys() == self._names
        return config.keys() == {name for name in self._order if self._active(name, config)}

    def check(self, config: Mapping[str, Any]) -> None:
        """Raise an error that names the parameter if this is no configuration of the space."""
        unknown = [name for name in config if name not in self._order]
        if unknown:
            raise SpaceError(f"{unknown[0]!r} is no parameter of the space; it has {', '.join(self._order)}")
        for name in self._order:
            active = self._active(name, dict(config))
            if active != (name in config):
                raise SpaceError(
                    f"parameter {name!r} is {'missing' if active else 'inactive here and must be left out'}"
                )
            if active and not self.space[name].legal_value(config[name]):
                raise SpaceError(f"parameter {name!r} is {config[name]!r}, outside of {self.space[name]}")
        if not self.allowed(dict(config)):
            raise SpaceError(f"the configuration {dict(config)} is forbidden by the space")

    def sample_point(self, rng: np.random.Generator) -> NDArray[np.float64]:
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
        """What makes two configurations the same, whatever the order of their parameters."""
        try:
            return frozenset(config.items())
        except TypeError:  # a choice that is a list cannot be hashed
            return frozenset((name, _frozen(value)) for name, value in config.items())

    @cached_property
    def rows(self) -> list[Config] | None:
        """The pool of configurations, where the space is that of a table."""
        rows = (self.space.meta or {}).get("rows")
        return None if rows is None else [dict(zip(self._order, row, strict=True)) for row in rows]

    @cached_property
    def row_points(self) -> NDArray[np.float64]:
        import numpy as np

        return np.array([self.encode(row) for row in self.rows or ()])

    @cached_property
    def finite(self) -> bool:
        """Whether all configurations can be listed in reasonable time."""
        return self.rows is not None or (
            all(axis.cells for axis in self.axes) and math.prod(axis.cells or 0 for axis in self.axes) <= _LARGEST_GRID
        )

    @cached_property
    def everything(self) -> list[Config]:
        """All configurations of a finite space, in order."""
        return self.rows if self.rows is not None else list(self.grid(2))

    def grid(self, resolution: int) -> Iterator[Config]:
        """All combinations, real ranges at ``resolution`` evenly spaced values, each once."""
        import numpy as np

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
        return [(cell + 0.5) / axis.cells for cell in range(axis.cells)]
    return [i / (resolution - 1) for i in range(resolution)] if resolution > 1 else [0.5]


def _satisfied(condition: Any, config: Config) -> bool:
    """A condition on an inactive parent does not hold."""
    if hasattr(condition, "components"):
        parts = (_satisfied(part, config) for part in condition.components)
        return any(parts) if type(condition).__name__ == "OrConjunction" else all(parts)
    return condition.parent.name in config and bool(condition.satisfied_by_value(config))


def _is_forbidden(clause: Any, config: Config) -> bool:
    """A clause on an inactive parameter does not hold."""
    if hasattr(clause, "components"):
        return all(_is_forbidden(part, config) for part in clause.components)
    names = [h.name for h in (getattr(clause, side, None) for side in ("hyperparameter", "left", "right")) if h]
    return all(name in config for name in names) and bool(clause.is_forbidden_value(config))


def _frozen(value: Any) -> Any:
    """A choice may be a list, which cannot be a key."""
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
