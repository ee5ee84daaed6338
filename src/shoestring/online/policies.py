"""What to play, with a Gaussian process: TV-GP-UCB, R-GP-UCB, GP-UCB, each with UCB, EI or PI.

====== ============================================================ ======
symbol meaning                                                      shape
====== ============================================================ ======
x_t    argmax of the acquisition (Algorithm 1, line 3)
μ, σ²  posterior before this round, moved on to this round          (m,)
β_t    exploration parameter, √β_t in the UCB                       scalar
ε      forgetting rate
====== ============================================================ ======

References: Bogunovic, Scarlett, Cevher (2016) for TV-GP-UCB and R-GP-UCB; Srinivas, Krause, Kakade,
Seeger (2010) for GP-UCB; Wang et al. (2021) for their use with costly feedback.

Differs from the papers in that before the first reading, when the UCB is flat, a random arm is played.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from shoestring.errors import MethodError
from shoestring.models.kernels import KERNELS
from shoestring.online.domains import Arms, Domain
from shoestring.online.exploration import ACQUISITIONS, Beta, as_beta
from shoestring.online.learning import Prior
from shoestring.online.players import ArmPlayer, CubePlayer, Settings
from shoestring.online.view import Player

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class TVGPUCB:
    """A process that forgets at rate ε. A parameter that is left out is learned online.

    ``lengthscale`` is in the arms' own units (in the unit cube for a space); ``noise`` and ``variance``
    are variances. With the noise given, the variance is 1 unless it is given too. ``drift="smooth"``
    takes the temporal squared exponential with ``time_lengthscale`` in place of forgetting.
    """

    kernel: str | None = None
    lengthscale: float | tuple[float, ...] | None = None
    noise: float | None = None
    forgetting: float | None = None
    beta: float | Beta | None = None
    variance: float | None = None
    acquisition: str = "ucb"
    drift: str = "forgetting"
    time_lengthscale: float | None = None
    neighbourhood: float = 0.1
    bounds: Bounds = field(default_factory=dict)
    has_posterior = True

    def __post_init__(self) -> None:
        _one_of("kernel", self.kernel, (None, *KERNELS))
        _one_of("acquisition", self.acquisition, tuple(ACQUISITIONS))
        _one_of("drift", self.drift, ("forgetting", "smooth"))

    @property
    def spatial_kernel(self) -> str | None:
        return self.kernel

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        return _start(self, self.forgetting, None, domain, horizon, seed)


@dataclass(frozen=True)
class GPUCB:
    """A process that does not change: every look counts for ever."""

    kernel: str | None = None
    lengthscale: float | tuple[float, ...] | None = None
    noise: float | None = None
    beta: float | Beta | None = None
    variance: float | None = None
    acquisition: str = "ucb"
    neighbourhood: float = 0.1
    bounds: Bounds = field(default_factory=dict)
    drift = "forgetting"
    time_lengthscale = None
    has_posterior = True

    def __post_init__(self) -> None:
        _one_of("kernel", self.kernel, (None, *KERNELS))
        _one_of("acquisition", self.acquisition, tuple(ACQUISITIONS))

    @property
    def spatial_kernel(self) -> str | None:
        return self.kernel

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        return _start(self, 0.0, None, domain, horizon, seed)


@dataclass(frozen=True)
class RGPUCB:
    """GP-UCB that starts over after every ``block`` rounds, by default 12·ε^(−1/4) for the forgetting rate ε."""

    kernel: str | None = None
    lengthscale: float | tuple[float, ...] | None = None
    noise: float | None = None
    forgetting: float = 0.01
    block: int | None = None
    beta: float | Beta | None = None
    variance: float | None = None
    acquisition: str = "ucb"
    neighbourhood: float = 0.1
    bounds: Bounds = field(default_factory=dict)
    drift = "forgetting"
    time_lengthscale = None
    has_posterior = True

    def __post_init__(self) -> None:
        _one_of("kernel", self.kernel, (None, *KERNELS))
        _one_of("acquisition", self.acquisition, tuple(ACQUISITIONS))
        if self.block is not None and self.block < 1:
            raise MethodError(f"block is {self.block!r}; it is a number of rounds, at least 1")

    @property
    def spatial_kernel(self) -> str | None:
        return self.kernel

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        block = self.block or math.ceil(12.0 * self.forgetting**-0.25)
        return _start(self, 0.0, block, domain, horizon, seed)


def _start(
    policy: TVGPUCB | GPUCB | RGPUCB,
    forgetting: float | None,
    block: int | None,
    domain: Domain,
    horizon: int | None,
    seed: int,
) -> Player:
    unrelated = isinstance(domain, Arms) and not domain.related
    prior = Prior(
        "independent" if unrelated else policy.kernel or "matern32",
        policy.lengthscale,
        policy.variance,
        policy.noise,
        forgetting,
        policy.time_lengthscale,
        policy.drift == "smooth",
        policy.bounds,
    )
    settings = Settings(prior, as_beta(policy.beta), policy.acquisition, policy.neighbourhood, block, horizon, seed)
    return ArmPlayer(domain, settings) if isinstance(domain, Arms) else CubePlayer(domain, settings)


def _one_of(name: str, given: str | None, allowed: tuple[str | None, ...]) -> None:
    if given not in allowed:
        raise MethodError(f"{name} is {given!r}; it can be {', '.join(repr(a) for a in allowed if a)}")
