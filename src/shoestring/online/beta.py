"""The exploration parameter β_t of the upper confidence bound μ + √β_t·σ, as a sequence over the rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shoestring.errors import MethodError

# β by (round, number of arms or None for a continuous space, dimensions)
Beta = Callable[[int, int | None, int], float]


@dataclass(frozen=True)
class LogBeta:
    """β_t = scale · log(inside · t), never below zero; 0.8·log(4t) fits the tables of Wang et al. (2021)."""

    scale: float = 0.8
    inside: float = 4.0

    def __call__(self, round: int, arms: int | None, dimensions: int) -> float:
        return max(0.0, self.scale * math.log(max(self.inside * round, 1e-300)))


@dataclass(frozen=True)
class TheoremBeta:
    """β_t of Theorem 4 (finite domain) and Theorem 7 (the cube, a and b bounding the slope of a sample)."""

    delta: float = 0.1
    a: float = 1.0
    b: float = 1.0

    def __call__(self, round: int, arms: int | None, dimensions: int) -> float:
        t, d = round, dimensions
        if arms is not None:
            return 2.0 * math.log(arms * t**2 * math.pi**2 / (6.0 * self.delta))
        slope = math.sqrt(max(0.0, math.log(4.0 * d * self.a / self.delta)))
        smooth = 2.0 * d * math.log(max(t**2 * d * self.b * slope, 1.0))
        return max(0.0, 2.0 * math.log(t**2 * 2.0 * math.pi**2 / (3.0 * self.delta)) + smooth)


def as_beta(given: float | Beta | None) -> Beta:
    if given is None:
        return LogBeta()
    if callable(given):
        return given
    if not given >= 0:
        raise MethodError(f"beta is {given!r}; give a number of at least 0, LogBeta(...) or TheoremBeta(...)")
    constant = float(given)
    return lambda round, arms, dimensions: constant
