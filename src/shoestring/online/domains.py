"""The domain of online tuning: a fixed set of arms, or a space searched through the unit cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array
from shoestring.errors import SpaceError
from shoestring.spaces.codec import Codec
from shoestring.spaces.definition import as_space

# The exact posterior of this many arms is a matrix of 200 MB.
_MOST_ARMS = 5_000
# A finite space with more configurations is searched like a continuous one.
_MOST_LISTED = 2_000


@dataclass(frozen=True)
class Arms:
    """A finite domain. ``points`` are the coordinates of the arms; ``related`` says if they mean anything."""

    configs: Sequence[Any]
    points: Array
    related: bool
    choices: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.configs)

    @property
    def span(self) -> Array:
        """The range of each coordinate, 1 where it does not vary."""
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        return np.where(high > low, high - low, 1.0)


@dataclass(frozen=True)
class Cube:
    """A space whose configurations cannot be listed."""

    codec: Codec

    @property
    def choices(self) -> tuple[bool, ...]:
        return tuple(bool(n) for n in self.codec.choices)

    @property
    def span(self) -> Array:
        return np.ones(self.codec.dimensions)


Domain = Arms | Cube


def as_domain(given: Any, kernel: str | None) -> Domain:
    """Arms from a list or an array with one row per arm; a space from a mapping or a ConfigurationSpace."""
    if isinstance(given, np.ndarray):
        return _rows(given)
    if isinstance(given, (list, tuple)):
        return _independent(given) if kernel in (None, "independent") else _rows(_numbers(given), list(given))
    if not isinstance(given, Mapping) and not hasattr(given, "values") and not hasattr(given, "space"):
        raise SpaceError(f"{given!r} is neither a list or array of arms nor a search space; give one of these")
    codec = Codec(as_space(given))
    if codec.rows is None and (not codec.finite or len(codec.everything) > _MOST_LISTED):
        return Cube(codec)
    points = np.array([codec.encode(config) for config in _count(codec.everything)])
    return Arms(codec.everything, points, True, tuple(bool(n) for n in codec.choices))


def _independent(given: Sequence[Any]) -> Arms:
    return Arms(_count(list(given)), np.arange(len(given), dtype=np.float64)[:, None], False)


def _rows(rows: NDArray[Any], configs: list[Any] | None = None) -> Arms:
    if rows.ndim not in (1, 2) or not np.issubdtype(rows.dtype, np.number) or not np.isfinite(rows).all():
        raise SpaceError(f"arms are rows of finite numbers; an array of shape {rows.shape} and {rows.dtype} was given")
    counted = _count(list(rows) if configs is None else configs)
    return Arms(counted, rows.astype(np.float64).reshape(len(rows), -1), True)


def _numbers(given: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise SpaceError(
            f"a kernel over arms needs their coordinates, and {given[0]!r} is not a number or row of numbers; "
            "give an array with one row per arm, or leave the kernel out: the arms are then independent"
        ) from None


def _count(configs: list[Any]) -> list[Any]:
    if not configs:
        raise SpaceError("there are no arms: give at least one")
    if len(configs) > _MOST_ARMS:
        raise SpaceError(
            f"{len(configs):,} arms were given, at most {_MOST_ARMS:,} can be listed; give a space instead"
        )
    return configs
