"""One parameter of a space as a coordinate in [0, 1].

============ =================================================================
real range   linear or logarithmic position in the range
integers     the middle of the value's cell, so that every value has equal room
choices      the middle of the choice's cell
ordered      the same; logarithms are compared where the parameter's ``meta`` says {"log": True}
============ =================================================================
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace


@dataclass(frozen=True)
class Axis:
    """One parameter as a coordinate: ``cells`` is the number of its values, None if real.

    ``values`` are these in their order, where they are not evenly spaced; ``choices`` where they were listed.
    """

    name: str
    decode: Callable[[float], Any]
    encode: Callable[[Any], float]
    cells: int | None
    categorical: bool
    prior: Callable[[np.random.Generator], float] | None = None
    values: Sequence[Any] | None = None
    choices: Sequence[Any] = ()

    def own_value(self, value: Any) -> Any:
        """A value as the parameter itself has it: 1 as 1.0 in a real range, and a list as the tuple of a choice."""
        if self.cells is None:
            return float(value) if isinstance(value, int) and abs(value) < 2**1023 else value
        try:
            own = self.decode(self.encode(value))
        except (TypeError, ValueError, ArithmeticError):
            return next((own for own in self.choices if _as_lists(own) == _as_lists(value)), value)
        return own if own == value else value  # outside of the range, decoding gives its end

    def centre(self, cell: int) -> float:
        """The coordinate of the value with this number."""
        return (cell + 0.5) / (self.cells or 1) if self.values is None else self.encode(self.values[cell])


def axis_of(h: Any) -> Axis:
    kinds = ConfigSpace.hyperparameters
    if isinstance(h, kinds.CategoricalHyperparameter):
        prior = None if h.weights is None else _by_weight(h.probabilities)
        choices = [native(value) for value in h.choices]
        return Axis(h.name, *_of_list(choices), len(choices), True, prior, choices=choices)
    if isinstance(h, kinds.OrdinalHyperparameter):
        values = [native(value) for value in h.sequence]
        if (h.meta or {}).get("log"):
            return Axis(h.name, *_of_logarithms(values), len(values), False, values=values, choices=values)
        return Axis(h.name, *_of_list(values), len(values), False, choices=values)
    if not hasattr(h, "lower"):
        raise SpaceError(f"parameter {h.name!r} is a {type(h).__name__}, which shoestring does not know")
    if isinstance(h, kinds.IntegerHyperparameter):
        pair, cells = _of_integers(int(h.lower), int(h.upper), h.log), int(h.upper) - int(h.lower) + 1
    else:
        pair, cells = _of_reals(float(h.lower), float(h.upper), h.log), None
    uneven = range(int(h.lower), int(h.upper) + 1) if cells and h.log else None
    uniform = isinstance(h, (kinds.UniformFloatHyperparameter, kinds.UniformIntegerHyperparameter))
    return Axis(h.name, *pair, cells, False, None if uniform else _own_prior(h, pair[1]), uneven)


Pair = tuple[Callable[[float], Any], Callable[[Any], float]]


def _of_list(values: list[Any]) -> Pair:
    plain, n = [native(value) for value in values], len(values)
    return lambda u: plain[min(int(u * n), n - 1)], lambda v: (plain.index(v) + 0.5) / n


def _of_logarithms(values: list[Any]) -> Pair:
    """Each value has the room between the geometric means with its neighbours."""
    if not all(isinstance(value, (int, float)) and value > 0 for value in values):
        raise SpaceError(f"the values {values} cannot be on a logarithmic scale: they are not all positive numbers")
    places = np.log(np.array(values, dtype=float))
    middles = (places[1:] + places[:-1]) / 2
    low, high = 2 * places[0] - middles[0], 2 * places[-1] - middles[-1]
    borders = ((middles - low) / (high - low)).tolist()
    centres = ((places - low) / (high - low)).tolist()
    return lambda u: values[bisect_right(borders, u)], lambda v: centres[values.index(v)]


def _as_lists(value: Any) -> Any:
    return [_as_lists(part) for part in value] if isinstance(value, (list, tuple)) else value


def native(value: Any) -> Any:
    """Convert a NumPy scalar to a plain value that JSON can hold; leave anything else unchanged."""
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value


def _of_integers(low: int, high: int, logarithmic: bool) -> Pair:
    n = high - low + 1
    if not logarithmic:
        return lambda u: low + min(int(u * n), n - 1), lambda v: (v - low + 0.5) / n
    base, width = math.log(low - 0.5), math.log(high + 0.5) - math.log(low - 0.5)
    return (
        lambda u: min(max(round(math.exp(base + u * width)), low), high),
        lambda v: (math.log(v) - base) / width,
    )


def _of_reals(low: float, high: float, logarithmic: bool) -> Pair:
    if not logarithmic:
        return lambda u: min(max(low + u * (high - low), low), high), lambda v: (v - low) / (high - low)
    base, width = math.log(low), math.log(high) - math.log(low)

    def decode(u: float) -> float:
        if 0 < u < 1:
            return min(max(math.exp(base + u * width), low), high)
        return low if u <= 0 else high  # the ends exactly, which exp(log(low)) is not

    return decode, lambda v: (math.log(v) - base) / width


def _by_weight(probabilities: Any) -> Callable[[np.random.Generator], float]:
    n = len(probabilities)
    return lambda rng: (int(rng.choice(n, p=probabilities)) + 0.5) / n


def _own_prior(h: Any, encode: Callable[[Any], float]) -> Callable[[np.random.Generator], float]:
    """ConfigSpace draws normal and beta parameters itself; it wants the older kind of generator."""

    def draw(rng: np.random.Generator) -> float:
        return encode(h.sample_value(seed=np.random.RandomState(int(rng.integers(2**31)))))

    return draw
