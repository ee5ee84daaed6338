"""The contract between the tuner, the policies and the look rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array
from shoestring.models.acquisition import expected_improvement
from shoestring.online.domains import Domain

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Posterior:
    """The posterior of this round's rewards at the candidates: all arms, or the local optima in the cube.

    ``chosen`` is the position of x_t among them, and the arrays have one entry for each. ``scale`` is the prior's
    standard deviation, and ``scale_known`` says whether there are enough readings to trust it. What not every
    rule needs is a function.
    """

    chosen: int
    mean: Array
    variance: Array
    scale: float
    scale_known: bool
    root_beta: float
    find_rivals: Callable[[], Ints]
    find_covariance: Callable[[], Array]

    @cached_property
    def rivals(self) -> Ints:
        """The other local optima of the acquisition, as positions among the candidates."""
        return self.find_rivals()

    def margins(self) -> Array:
        """(μ(x_t) − μ(x))/√(σ²(x_t) + σ²(x)) for the rivals: equation 5, latent values taken as independent."""
        gap = self.mean[self.chosen] - self.mean[self.rivals]
        return np.asarray(gap / np.sqrt(self.variance[self.chosen] + self.variance[self.rivals]))

    def expected_loss(self) -> float:
        """max over x of E[(f(x) − f(x_t))⁺]: the most that playing x_t may cost in this round."""
        gap = self.mean - self.mean[self.chosen]
        spread = np.sqrt(np.maximum(self.variance + self.variance[self.chosen] - 2.0 * self.find_covariance(), 0.0))
        loss = expected_improvement(-gap, np.maximum(spread, 1e-12), 0.0)[0]
        loss[self.chosen] = 0.0
        return float(loss.max())


@dataclass(frozen=True)
class Suggestion:
    """A proposal of a policy: an arm's index or a point of the cube; and its best estimate, to play if blind."""

    candidate: Any
    best_estimate: Callable[[], Any]
    posterior: Posterior | None = None


class Agent(Protocol):
    """A policy at work on one domain. Time moves by ``suggest``, knowledge by ``observe``."""

    @property
    def readings(self) -> int: ...

    def suggest(self, round: int) -> Suggestion: ...

    def observe(self, round: int, candidate: Any, value: float) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class Policy(Protocol):
    """A rule for what to play: a description, from which ``start`` makes an agent."""

    @property
    def has_posterior(self) -> bool: ...

    @property
    def kernel(self) -> str | None:
        """The kernel that was asked for; without one the arms of a list are independent."""
        ...

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent: ...
