"""The positions and labels of the values of a parameter on its axis."""

from __future__ import annotations

from typing import Any

from shoestring.plots.picture import Ticks
from shoestring.plots.style import shorten, tick_places
from shoestring.spaces.axes import Axis

_MOST_TICKS = 8


def ticks_of(axis: Axis) -> Ticks:
    """Places in the unit interval and the parameter's values there."""
    if axis.cells is not None and (axis.choices or axis.cells <= _MOST_TICKS):
        return [(place, shorten(value_text(axis.decode(place)), 12)) for place in _apart(axis)]
    low, middle, high = (axis.decode(place) for place in (0.0, 0.5, 1.0))
    log = low > 0 and abs(middle**2 / (low * high) - 1) < 0.2
    return [(axis.encode(value), value_text(value)) for value in tick_places(low, high, log, 4)]


def _apart(axis: Axis) -> list[float]:
    """The places of the values of a finite parameter, without those too close to the one before."""
    places: list[float] = []
    for cell in range(axis.cells or 0):
        place = axis.centre(cell)
        if not places or place - places[-1] > 1 / _MOST_TICKS - 1e-9:
            places.append(place)
    return places


def value_text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
