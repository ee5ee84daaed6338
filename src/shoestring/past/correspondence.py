"""Configurations of a past study as those of the new space: by the names of the parameters and by their values.

A value counts if the new space has it, whatever the bounds and scales are. Where only one of the spaces has a
parameter, it has the default of that space: the new parameter in configurations of the past, and the past parameter
in new configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoestring._arrays import Array
from shoestring.core.untried import nearest_row
from shoestring.errors import SpaceError
from shoestring.spaces.axes import Axis, native
from shoestring.spaces.codec import Codec, Config


class Correspondence:
    """Points have the coordinates of the new space first, then those of parameters that only the past has.

    ``common`` has the parameters that both spaces can vary or fix, if the new one varies them.
    """

    def __init__(self, new: Codec, past: Codec, guess: Mapping[str, Any]) -> None:
        self._new = new
        self.common = [name for name in new.names if name in past.space]
        defaults = {name: native(new.space[name].default_value) for name in new.names}
        self._defaults = {**defaults, **guess}
        self._extra = [axis for axis in past.axes if axis.name not in new.names]
        self._extra_defaults = np.array([_default(axis, new, past) for axis in self._extra])
        self.choices = tuple(
            bool(n) for n in (*new.choices, *(axis.cells if axis.categorical else 0 for axis in self._extra))
        )

    def config(self, past: Mapping[str, Any]) -> Config | None:
        """A configuration of the past in the new space; None if a value is outside of it."""
        known = {name: past[name] for name in self.common if name in past}
        full = {**self._defaults, **known}
        try:
            own = self._new.without_inactive(full, list(full))
            if self._new.rows is not None:
                point, free = self._new.encode(own), np.ones(len(self._new.rows), dtype=bool)
                return dict(self._new.rows[nearest_row(self._new, point, free)])
            return self._new.complete(own)
        except (SpaceError, TypeError, ValueError):
            return None

    def past_point(self, config: Config, past: Mapping[str, Any]) -> Array:
        """The point of a past configuration, which is ``config`` in the new space."""
        extra = [axis.encode(past[axis.name]) if axis.name in past else math.nan for axis in self._extra]
        return np.array([*self._new.encode(config), *extra])

    def new_point(self, config: Config) -> Array:
        """The point of a new configuration, seen by the past study."""
        return np.concatenate([self._new.encode(config), self._extra_defaults])


def _default(axis: Axis, new: Codec, past: Codec) -> float:
    """The coordinate of the value that a new configuration has: a constant of the new space, or the default."""
    fixed = getattr(new.space[axis.name], "value", None) if axis.name in new.space else None
    for value in (fixed, native(past.space[axis.name].default_value)):
        try:
            coordinate = axis.encode(value)
        except (TypeError, ValueError):
            continue
        if 0 <= coordinate <= 1:
            return coordinate
    return 0.5
