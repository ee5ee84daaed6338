"""Functions with a known minimum as problems, directly or as the final values of learning curves."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from shoestring.core.randomness import integer
from shoestring.errors import SpaceError
from shoestring.problems.base import check_step, return_reading, standard_normal, yield_readings
from shoestring.problems.functions import SMOOTH, STRUCTURED, Structured, function_of_configurations
from shoestring.spaces.codec import Config

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from shoestring.core.events import Mode


@dataclass(frozen=True)
class Synthetic:
    """A function to minimise whose minimum is known.

    ``name`` is branin, hartmann3, hartmann6, ackley, rosenbrock, levy, rastrigin, sphere, styblinski-tang, mixed or
    conditional; ``dimensions`` is the number of parameters of those from ackley to styblinski-tang (by default 2).
    ``noise`` is the standard deviation of the normal noise in a reading. A step takes ``duration`` seconds of the
    virtual clock times a log-normal factor with parameter ``spread``. Noise and durations follow from the trial's
    seed and the step.

    >>> from shoestring.problems import Synthetic
    >>> problem = Synthetic("branin")
    >>> round(problem.best, 6), problem.value({"x1": 0.0, "x2": 0.0}) > problem.best
    (0.397887, True)
    """

    mode: ClassVar[Mode] = "min"
    max_resource: ClassVar[int] = 1
    __call__ = return_reading

    name: str
    dimensions: int | None = None
    noise: float = 0.0
    duration: float = 1.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        known = [*SMOOTH, *STRUCTURED]
        if self.name not in known:
            near = difflib.get_close_matches(str(self.name), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SpaceError(f"there is no function {self.name!r}; {hint}Known are {', '.join(known)}")
        fixed = self.name in STRUCTURED or not SMOOTH[self.name].any_dimensions
        least = 2 if self.name == "rosenbrock" else 1
        if self.dimensions is not None and (fixed or self.dimensions < least):
            allowed = f"has {len(self.space)} parameters: leave dimensions out" if fixed else f"needs {least} or more"
            raise SpaceError(f"dimensions is {self.dimensions!r}; {self.name} {allowed}")
        for option in ("noise", "duration", "spread"):
            if not 0 <= getattr(self, option) < math.inf:
                raise SpaceError(f"{option} is {getattr(self, option)!r}; it must be a number, 0 or more")

    @property
    def _function(self) -> Structured:
        return function_of_configurations(self.name, self.dimensions)

    @cached_property
    def space(self) -> ConfigurationSpace:
        return self._function.space()

    @property
    def best_config(self) -> Config:
        """A configuration with the best value; there may be others."""
        return dict(self._function.minimiser)

    @cached_property
    def best(self) -> float:
        """The least value; with noise a reading can lie below."""
        return self.value(self.best_config)

    def value(self, config: Mapping[str, Any]) -> float:
        """The function itself, without noise."""
        return self._function.function(config)

    def noise_at(self, step: int, seed: int) -> float:
        """Draw the noise that is added to the reading of a step."""
        return self.noise * standard_normal(seed, step, "noise") if self.noise else 0.0

    def reading(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        return self.value(config) + self.noise_at(step, seed)

    def seconds(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        factor = math.exp(self.spread * standard_normal(seed, step, "seconds")) if self.spread else 1.0
        return self.duration * factor


@dataclass(frozen=True)
class WithCurves:
    """A function as the final value of a learning curve of ``max_resource`` steps.

    At step k a reading lies above the function's value by (1 + regret) (k^-r - R^-r) / (1 - R^-r),
    a power law that is 0 at the last step R. Each configuration has its own rate r between ``slowest`` and
    ``fastest``, so curves cross and an early lead can be misleading. Noise and durations are the function's.

    >>> from shoestring.problems import Synthetic, WithCurves
    >>> problem = WithCurves(Synthetic("branin"), max_resource=27)
    >>> at = problem.best_config
    >>> problem.reading(at, 1) > problem.reading(at, 9) > problem.reading(at, 27) == problem.best
    True
    """

    mode: ClassVar[Mode] = "min"
    space = property(attrgetter("function.space"))
    best = property(attrgetter("function.best"))
    best_config = property(attrgetter("function.best_config"))
    seconds = property(attrgetter("function.seconds"))
    __call__ = yield_readings

    function: Synthetic
    max_resource: int
    slowest: float = 0.3
    fastest: float = 1.5

    def __post_init__(self) -> None:
        if not isinstance(self.max_resource, int) or self.max_resource < 2:
            raise SpaceError(f"max_resource is {self.max_resource!r}; a curve has 2 steps or more")
        if not 0 < self.slowest <= self.fastest:
            raise SpaceError(f"the rates are from {self.slowest} to {self.fastest}; they must be positive and in order")

    def rate(self, config: Mapping[str, Any]) -> float:
        """Return how fast a configuration learns: a pseudo-random number in the range that follows from its values."""
        share = integer(0, 0, repr(sorted(config.items()))) / 2**31
        return self.slowest + share * (self.fastest - self.slowest)

    def reading(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        rate, value = self.rate(config), self.function.value(config)
        end = math.pow(self.max_resource, -rate)
        left = (math.pow(check_step(step, self.max_resource), -rate) - end) / (1 - end)
        return value + (1 + value - self.function.best) * left + self.function.noise_at(step, seed)
