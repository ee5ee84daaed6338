"""How boldly to explore: the sequences β_t, and the acquisition functions that turn moments into a score.

====== ============================================================ =======
symbol meaning                                                      shape
====== ============================================================ =======
μ, σ   posterior mean and standard deviation at the candidates      (m,)
b      the value to beat, the best posterior mean                   scalar
β_t    exploration parameter of round t; the score uses √β_t        scalar
z      (μ − b)/σ                                                    (m,)
====== ============================================================ =======
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from shoestring.errors import MethodError

Array = NDArray[np.float64]

# β by (round, number of arms or None for a continuous space, dimensions)
Beta = Callable[[int, int | None, int], float]


@dataclass(frozen=True)
class LogBeta:
    """β_t = scale · log(inside · t), never below zero; 0.8·log(4t) fits the paper's tables."""

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


@dataclass(frozen=True)
class ConstantBeta:
    """The same β in every round; the paper used 1 for the augmentation experiment."""

    value: float

    def __call__(self, round: int, arms: int | None, dimensions: int) -> float:
        return self.value


def as_beta(given: float | Beta | None) -> Beta:
    if given is None:
        return LogBeta()
    if callable(given):
        return given
    if not given >= 0:
        raise MethodError(f"beta is {given!r}; give a number of at least 0, LogBeta(...) or TheoremBeta(...)")
    return ConstantBeta(float(given))


@dataclass(frozen=True)
class Score:
    """The acquisition at each candidate, and its partial derivatives by mean and by standard deviation."""

    value: Array
    by_mean: Array
    by_deviation: Array


def _ucb(mean: Array, deviation: Array, best: float, root_beta: float) -> Score:
    ones = np.ones_like(mean)
    return Score(mean + root_beta * deviation, ones, root_beta * ones)


def _expected_improvement(mean: Array, deviation: Array, best: float, root_beta: float) -> Score:
    z = (mean - best) / deviation
    below, density = ndtr(z), _density(z)
    return Score((mean - best) * below + deviation * density, below, density)


def _probability_of_improvement(mean: Array, deviation: Array, best: float, root_beta: float) -> Score:
    # Ranked by z, which orders as Φ(z) does and does not saturate.
    z = (mean - best) / deviation
    return Score(z, 1.0 / deviation, -z / deviation)


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi))


ACQUISITIONS: dict[str, Callable[[Array, Array, float, float], Score]] = {
    "ucb": _ucb,
    "ei": _expected_improvement,
    "pi": _probability_of_improvement,
}


def expected_loss(mean: Array, variance: Array, covariance: Array, chosen: int) -> Array:
    """E[(f(x) − f(x_t))⁺] under the joint posterior: what not being at x would cost in this round, (m,)."""
    gap = mean - mean[chosen]
    spread = np.sqrt(np.maximum(variance + variance[chosen] - 2.0 * covariance, 0.0))
    z = gap / np.maximum(spread, 1e-12)
    loss = gap * ndtr(z) + spread * _density(z)
    loss[chosen] = 0.0
    return np.asarray(loss)
