"""One parameter of a space as a coordinate in [0, 1].

============ =================================================================
real range   linear or logarithmic position in the range
integers     the middle of the value's cell, so that every value has equal room
choices      the middle of the choice's cell
============ =================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace


@dataclass(frozen=True)
class Axis:
    """One parameter as a coordinate: ``cells`` is the number of its values, None if real."""

    name: str
    decode: Callable[[float], Any]
    encode: Callable[[Any], float]
    cells: int | None
    categorical: bool
    prior: Callable[[np.random.Generator], float] | None = None


def axis_of(h: Any) -> Axis:
    kinds = ConfigSpace.hyperparameters
    if isinstance(h, kinds.CategoricalHyperparameter):
        prior = None if h.weights is None else _weighted(h.probabilities)
        return Axis(h.name, *_of_list(list(h.choices)), len(h.choices), True, prior)
    if isinstance(h, kinds.OrdinalHyperparameter):
        return Axis(h.name, *_of_list(list(h.sequence)), len(h.sequence), False)
    if not hasattr(h, "lower"):
        raise SpaceError(f"parameter {h.name!r} is a {type(h).__name__}, which shoestring does not know")
    if isinstance(h, kinds.IntegerHyperparameter):
        pair, cells = _of_integers(int(h.lower), int(h.upper), h.log), int(h.upper) - int(h.lower) + 1
    else:
        pair, cells = _of_reals(float(h.lower), float(h.upper), h.log), None
    uniform = isinstance(h, (kinds.UniformFloatHyperparameter, kinds.UniformIntegerHyperparameter))
    return Axis(h.name, *pair, cells, False, None if uniform else _own_prior(h, pair[1]))


Pair = tuple[Callable[[float], Any], Callable[[Any], float]]


def _of_list(values: list[Any]) -> Pair:
    plain, n = [native(value) for value in values], len(values)
    return lambda u: plain[min(int(u * n), n - 1)], lambda v: (plain.index(v) + 0.5) / n


def native(value: Any) -> Any:
    """A NumPy scalar as the plain value that JSON can hold; anything else as it is."""
    return value.item() if hasattr(value, "item") else value


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


def _weighted(probabilities: Any) -> Callable[[np.random.Generator], float]:
    n = len(probabilities)
    return lambda rng: (int(rng.choice(n, p=probabilities)) + 0.5) / n


def _own_prior(h: Any, encode: Callable[[Any], float]) -> Callable[[np.random.Generator], float]:
    """ConfigSpace draws normal and beta parameters itself; it wants the older kind of generator."""

    def draw(rng: np.random.Generator) -> float:
        return encode(h.sample_value(seed=np.random.RandomState(int(rng.integers(2**31)))))

    return draw
