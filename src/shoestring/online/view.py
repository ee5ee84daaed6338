"""What a policy shows the look rule: the arm it would play, its rivals, and what is believed of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoestring.online.domains import Domain
from shoestring.online.exploration import expected_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """One round seen through a policy.

    ``candidates`` are arm indices, or points of the cube; the arrays have one entry for each.
    ``variance`` is None for a policy without a posterior. ``scale`` is the prior's standard deviation, and
    ``informed`` says whether enough has been read to know it. What not every rule needs is a function.
    """

    candidates: Array | range
    chosen: int
    mean: Array
    variance: Array | None
    scale: float
    informed: bool
    root_beta: float
    find_rivals: Callable[[], NDArray[np.intp]]
    covariance: Callable[[], Array]
    exploit: Callable[[], Any]

    @cached_property
    def rivals(self) -> NDArray[np.intp]:
        """The other modes of the acquisition, as positions among the candidates."""
        return self.find_rivals()

    def margins(self) -> Array:
        """(μ(x_t) − μ(x))/√(σ²(x_t) + σ²(x)) for the rivals: equation 5, latent values taken as independent."""
        assert self.variance is not None
        gap = self.mean[self.chosen] - self.mean[self.rivals]
        return np.asarray(gap / np.sqrt(self.variance[self.chosen] + self.variance[self.rivals]))

    def worth(self) -> float:
        """The largest expected loss of playing x_t instead of another candidate: what a look could save."""
        assert self.variance is not None
        return float(expected_loss(self.mean, self.variance, self.covariance(), self.chosen).max())


class Player(Protocol):
    """A policy at work on one domain. Time moves by ``view``, knowledge by ``observe``."""

    @property
    def readings(self) -> int: ...

    def view(self, round: int) -> View: ...

    def observe(self, round: int, candidate: Any, value: float) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class Policy(Protocol):
    """What to play: a description that starts a player."""

    @property
    def has_posterior(self) -> bool: ...

    @property
    def spatial_kernel(self) -> str | None:
        """The kernel asked for by name, None if there is none: arms in a list are then mere labels."""
        ...

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player: ...
