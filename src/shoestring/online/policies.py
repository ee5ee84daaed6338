"""Policies with a Gaussian process: TV-GP-UCB, R-GP-UCB and GP-UCB, each with UCB, EI or PI.

====== ============================================================ ======
symbol meaning                                                      shape
====== ============================================================ ======
x_t    argmax of the acquisition (Algorithm 1, line 3)
μ, σ²  posterior before this round, moved on to this round          (m,)
β_t    exploration parameter, √β_t in the UCB                       scalar
ε      forgetting rate                                              scalar
====== ============================================================ ======

References: Bogunovic, Scarlett and Cevher, Time-varying Gaussian process bandit optimization (AISTATS 2016) for
TV-GP-UCB and R-GP-UCB; Srinivas, Krause, Kakade and Seeger, Gaussian process optimization in the bandit setting
(ICML 2010) for GP-UCB; Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization
(ACML 2021) for their use with costly feedback.

Differs from the papers in that before the first reading, when the UCB is flat, a random arm is played.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

from shoestring.errors import MethodError
from shoestring.models.kernels import KERNELS, KernelName
from shoestring.online.agents import Acquisition, ArmAgent, CubeAgent, Settings
from shoestring.online.beta import Beta, as_beta
from shoestring.online.domains import Arms, Domain
from shoestring.online.prior import Prior
from shoestring.online.suggestion import Agent


@dataclass(frozen=True)
class _ProcessPolicy:
    """The options that all three policies share. A parameter that is left out is learned online."""

    kernel: KernelName | None = None
    lengthscale: float | tuple[float, ...] | None = None
    noise: float | None = None
    _: KW_ONLY
    beta: float | Beta | None = None
    variance: float | None = None
    acquisition: Acquisition = "ucb"
    has_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_one_of("kernel", self.kernel, (None, *KERNELS))
        _check_one_of("acquisition", self.acquisition, ("ucb", "ei", "pi"))

    def _start(
        self,
        domain: Domain,
        horizon: int | None,
        seed: int,
        forgetting: float | None = 0.0,
        smooth: bool = False,
        block: int | None = None,
    ) -> Agent:
        independent = isinstance(domain, Arms) and not domain.related
        kernel = "independent" if independent else self.kernel or "matern32"
        prior = Prior(kernel, self.lengthscale, self.variance, self.noise, forgetting, smooth)
        settings = Settings(prior, as_beta(self.beta), self.acquisition, block, horizon, seed)
        return ArmAgent(domain, settings) if isinstance(domain, Arms) else CubeAgent(domain, settings)


@dataclass(frozen=True)
class TVGPUCB(_ProcessPolicy):
    """A Gaussian process that forgets at rate ε.

    ``lengthscale`` is in the arms' own units (in the unit cube for a space); ``noise`` and ``variance`` are variances.
    With the noise given, the variance is 1 unless it is given too. ``drift="smooth"`` replaces forgetting by a
    temporal squared exponential, whose length-scale is learned.
    """

    forgetting: float | None = None
    drift: Literal["forgetting", "smooth"] = field(default="forgetting", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_of("drift", self.drift, ("forgetting", "smooth"))

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        return self._start(domain, horizon, seed, self.forgetting, self.drift == "smooth")


@dataclass(frozen=True)
class GPUCB(_ProcessPolicy):
    """A Gaussian process that does not change: a reading never loses its weight."""

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        return self._start(domain, horizon, seed)


@dataclass(frozen=True)
class RGPUCB(_ProcessPolicy):
    """GP-UCB that starts over after every ``block`` rounds, by default 12·ε^(−1/4) for the forgetting rate ε."""

    forgetting: float = 0.01
    block: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None and self.block < 1:
            raise MethodError(f"block is {self.block!r}; it must be a number of rounds, at least 1")

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        block = self.block or math.ceil(12.0 * self.forgetting**-0.25)
        return self._start(domain, horizon, seed, block=block)


def _check_one_of(name: str, given: str | None, allowed: tuple[str | None, ...]) -> None:
    if given not in allowed:
        raise MethodError(f"{name} is {given!r}; it can be {', '.join(repr(a) for a in allowed if a)}")
