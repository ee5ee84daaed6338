"""Functions with a known minimum as problems, as they are or as the ends of learning curves."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from shoestring.core.randomness import integer
from shoestring.errors import SpaceError
from shoestring.problems.arrays import checked_step
from shoestring.problems.functions import SMOOTH, STRUCTURED
from shoestring.spaces.codec import Config
from shoestring.spaces.definition import space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from shoestring.executors.base import Trial

_NORMAL = NormalDist()


def _normal(seed: int, step: int, purpose: str) -> float:
    """A standard normal number by key; making a generator for each would cost more than the rest of a step."""
    return _NORMAL.inv_cdf((integer(seed, step, purpose) + 0.5) / 2**31)


@dataclass(frozen=True)
class Synthetic:
    """A function to minimise whose minimum is known.

    ``name`` is branin, hartmann3, hartmann6, ackley, rosenbrock, levy, rastrigin, sphere,
    styblinski-tang, mixed or conditional; ``dimensions`` says how many parameters those from ackley
    to styblinski-tang have (2 if left out). ``noise`` is the standard deviation of what is added to a
    reading. A step takes ``duration`` seconds of the virtual clock, times a log-normal factor of
    ``spread``. Noise and durations follow from the trial's seed and the step.

    >>> from shoestring.problems import Synthetic
    >>> problem = Synthetic("branin")
    >>> round(problem.best, 6), problem.value({"x1": 0.0, "x2": 0.0}) > problem.best
    (0.397887, True)
    """

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
                raise SpaceError(f"{option} is {getattr(self, option)!r}; it is a number, 0 or more")

    @property
    def mode(self) -> str:
        return "min"

    @property
    def max_resource(self) -> int:
        return 1

    @cached_property
    def space(self) -> ConfigurationSpace:
        if self.name in STRUCTURED:
            return STRUCTURED[self.name].space()
        return space(**dict(zip(self._names, self._stretched(SMOOTH[self.name].bounds), strict=True)))

    def _stretched(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return values * (self.dimensions or 2) if SMOOTH[self.name].any_dimensions else values

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"x{i}" for i in range(1, len(self._stretched(SMOOTH[self.name].bounds)) + 1))

    @property
    def best_config(self) -> Config:
        """A configuration with the best value; there may be others."""
        if self.name in STRUCTURED:
            return dict(STRUCTURED[self.name].at)
        return dict(zip(self._names, self._stretched(SMOOTH[self.name].at), strict=True))

    @cached_property
    def best(self) -> float:
        """The least value; with noise a reading can lie below."""
        return self.value(self.best_config)

    def value(self, config: Mapping[str, Any]) -> float:
        """The function itself, without noise."""
        if self.name in STRUCTURED:
            return STRUCTURED[self.name].function(config)
        return SMOOTH[self.name].function([config[name] for name in self._names])

    def noise_at(self, step: int, seed: int) -> float:
        """What is added to the reading of a step."""
        return self.noise * _normal(seed, step, "noise") if self.noise else 0.0

    def reading(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        return self.value(config) + self.noise_at(step, seed)

    def seconds(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        return self.duration * math.exp(self.spread * _normal(seed, step, "seconds")) if self.spread else self.duration

    def __call__(self, trial: Trial) -> float:
        return self.reading(trial.config, 1, trial.seed)


@dataclass(frozen=True)
class WithCurves:
    """A function as the end of a learning curve of ``max_resource`` steps.

    At step k a reading lies above the function's value by ``height`` (1 + regret) (k^-r - R^-r) / (1 - R^-r),
    a power law that is 0 at the last step R. Its rate r is between ``slowest`` and ``fastest``; each
    configuration has its own, so curves cross and an early lead can deceive. Noise and durations are
    the function's.

    >>> from shoestring.problems import Synthetic, WithCurves
    >>> problem = WithCurves(Synthetic("branin"), max_resource=27)
    >>> at = problem.best_config
    >>> problem.reading(at, 1) > problem.reading(at, 9) > problem.reading(at, 27) == problem.best
    True
    """

    function: Synthetic
    max_resource: int
    height: float = 1.0
    slowest: float = 0.3
    fastest: float = 1.5

    def __post_init__(self) -> None:
        if not isinstance(self.max_resource, int) or self.max_resource < 2:
            raise SpaceError(f"max_resource is {self.max_resource!r}; a curve has 2 steps or more")
        if not 0 < self.slowest <= self.fastest:
            raise SpaceError(f"the rates are from {self.slowest} to {self.fastest}; they must be positive and in order")

    @property
    def mode(self) -> str:
        return self.function.mode

    @property
    def space(self) -> ConfigurationSpace:
        return self.function.space

    @property
    def best(self) -> float:
        return self.function.best

    @property
    def best_config(self) -> Config:
        return self.function.best_config

    def rate(self, config: Mapping[str, Any]) -> float:
        """How fast a configuration learns: any number in the range, but always the same for the same values."""
        share = integer(0, 0, repr(sorted(config.items()))) / 2**31
        return self.slowest + share * (self.fastest - self.slowest)

    def reading(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        rate, value = self.rate(config), self.function.value(config)
        end = math.pow(self.max_resource, -rate)
        left = (math.pow(checked_step(step, self.max_resource), -rate) - end) / (1 - end)
        return value + self.height * (1 + value - self.best) * left + self.function.noise_at(step, seed)

    def seconds(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        return self.function.seconds(config, step, seed)

    def __call__(self, trial: Trial) -> Iterator[float]:
        for step in range(trial.start + 1, self.max_resource + 1):
            yield self.reading(trial.config, step, trial.seed)
