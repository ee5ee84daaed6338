"""Functions of the batch benchmark, a part of whose space fails: a half-space, a ball, or a condition on a parameter.

A part is placed in the unit cube so that a given share of the space fails and the optimum does not, but is close to
the border where that is possible: there a model must tell what is good from what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.randomness import generator
from shoestring.problems import Synthetic
from shoestring.spaces.codec import Codec

Array = NDArray[np.float64]
Fails = Callable[[Mapping[str, Any]], bool]

# The optimum is at least so far from what fails, in the unit cube.
_CLEARANCE = 0.03
_DRAWS, _DIRECTIONS = 4000, 60


@dataclass(frozen=True, eq=False)
class FailingFunction:
    """A function whose evaluation fails where ``fails`` says so; its optimum is one of the others."""

    name: str
    problem: Synthetic
    fails: Fails

    @cached_property
    def share(self) -> float:
        """Return which share of the space fails."""
        codec, rng = Codec(self.problem.space), generator(0, 0, "failing share")
        return fmean(self.fails(codec.sample(rng)) for _ in range(_DRAWS))

    @cached_property
    def reference(self) -> float:
        """The median of the best values that random search has after 100 evaluations."""
        return median(self._searched(generator(0, repeat, "failing reference")) for repeat in range(200))

    def _searched(self, rng: np.random.Generator) -> float:
        codec = Codec(self.problem.space)
        configs = [codec.sample(rng) for _ in range(100)]
        return min(self.problem.value(config) for config in configs if not self.fails(config))


def half_space(problem: Synthetic, share: float) -> Fails:
    """Beyond a plane: of some random directions, the one whose plane is closest to the optimum."""
    codec = Codec(problem.space)
    optimum, draws, rng = _geometry(problem, codec)
    found = []
    for direction in _directions(rng, len(optimum)):
        border = float(np.quantile(draws @ direction, 1 - share))
        found.append((border - float(optimum @ direction), border, direction))
    _, border, direction = min((one for one in found if one[0] > _CLEARANCE), key=lambda one: one[0])
    return lambda config: float(codec.encode(config) @ direction) > border


def ball(problem: Synthetic, share: float) -> Fails:
    """Within a ball whose surface is close to the optimum: of some directions and sizes, that with the right share."""
    codec = Codec(problem.space)
    optimum, draws, rng = _geometry(problem, codec)
    found = []
    for direction in _directions(rng, len(optimum)):
        for radius in np.linspace(0.1, 1.0, 19):
            centre = optimum + (radius + _CLEARANCE) * direction
            inside = float((np.linalg.norm(draws - centre, axis=1) < radius).mean())
            found.append((abs(inside - share), centre, float(radius)))
    _, centre, radius = min(found, key=lambda one: one[0])
    return lambda config: float(np.linalg.norm(codec.encode(config) - centre)) < radius


def _geometry(problem: Synthetic, codec: Codec) -> tuple[Array, Array, np.random.Generator]:
    rng = generator(0, 0, f"failing part of {problem.name}")
    return codec.encode(problem.best_config), rng.random((_DRAWS, codec.dimensions)), rng


def _directions(rng: np.random.Generator, d: int) -> Array:
    drawn = rng.standard_normal((_DIRECTIONS, d))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1)[:, None])


@cache
def failing_functions() -> tuple[FailingFunction, ...]:
    """The eight tasks; 8 to 32 % of their spaces fail."""

    def halved(name: str, problem: Synthetic, share: float) -> FailingFunction:
        return FailingFunction(f"{name}, half-space", problem, half_space(problem, share))

    def with_ball(name: str, problem: Synthetic, share: float) -> FailingFunction:
        return FailingFunction(f"{name}, ball", problem, ball(problem, share))

    return (
        with_ball("hartmann 3", Synthetic("hartmann3"), 0.2),
        halved("hartmann 6", Synthetic("hartmann6"), 0.25),
        with_ball("hartmann 6", Synthetic("hartmann6"), 0.1),
        halved("ackley 5", Synthetic("ackley", dimensions=5), 0.2),
        halved("levy 8", Synthetic("levy", dimensions=8), 0.25),
        with_ball("rastrigin 3", Synthetic("rastrigin", dimensions=3), 0.15),
        halved("styblinski-tang 5", Synthetic("styblinski-tang", dimensions=5), 0.32),
        FailingFunction("mixed, high rates", Synthetic("mixed"), lambda config: config["rate"] > 0.03),
    )
