"""Look rules: whether this round's reading is worth paying for.

=============== ==========================================================================
Always          full feedback
Bernoulli(p)    with a fixed probability (section 4.2)
Confident(κ)    unless x_t beats every rival with probability κ (Algorithm 1, line 4)
Disjoint()      unless lcb(x_t) ≥ ucb of every rival (Lemma 1 of 2021, Lemma 8 of 2020)
Mixed(B1,B2,κ)  Bernoulli(B1/T), else Confident(κ) and Bernoulli((B2−B1)/T) (lines 4 and 8)
ExpectedLoss(θ) if playing x_t may cost more than θ in this round (beyond the papers)
Exactly(n)      n times over the horizon, where it is worth most (beyond the papers)
=============== ==========================================================================

Sections and lines refer to Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter
optimization (AutoML workshop 2020, with proofs; ACML 2021). Every rule takes ``greedy_when_blind``: a round without
a reading then plays the best estimate instead of x_t, since exploring without a reading gains nothing (beyond the
papers).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from shoestring.errors import MethodError
from shoestring.online.suggestion import Posterior


@dataclass(frozen=True)
class Progress:
    """The progress of a run: this round's number from 1, the horizon, the looks so far, and the rule's own memory.

    ``chance(purpose)`` draws from [0, 1), the same for the same round and purpose.
    """

    round: int
    horizon: int | None
    looks: int
    memory: float | None
    chance: Callable[[str], float]


@dataclass(frozen=True)
class LookDecision:
    """The decision to look or not: why, the expected loss if the rule knows it, and what the rule wants to remember."""

    look: bool
    reason: str
    expected_loss: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class LookRule(ABC):
    """The interface of a look rule; a rule that ``needs_posterior`` is never given None."""

    greedy_when_blind: bool = field(default=False, kw_only=True)
    needs_posterior: ClassVar[bool] = False
    needs_horizon: ClassVar[bool] = False

    @abstractmethod
    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision: ...


@dataclass(frozen=True)
class Always(LookRule):
    """Look in every round."""

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        return LookDecision(True, "every round is looked at")


@dataclass(frozen=True)
class Bernoulli(LookRule):
    """Look with probability p, whatever is known."""

    p: float

    def __post_init__(self) -> None:
        _check_between("p", self.p, 0.0, 1.0)

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        return LookDecision(progress.chance("look") < self.p, f"by chance, {self.p:g} of the rounds")


def _look_anyway(posterior: Posterior) -> LookDecision | None:
    """A look that needs no comparison with the rivals."""
    if not posterior.scale_known:
        return LookDecision(True, "there are too few readings to know their scale")
    if not len(posterior.rivals):
        return LookDecision(True, "there is no rival to be confident against")
    return None


@dataclass(frozen=True)
class Confident(LookRule):
    """The cost-efficient rule: look if P(f(x_t) > f(x)) < κ for some rival x, or without any rival."""

    kappa: float = 0.9
    needs_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_between("kappa", self.kappa, 0.0, 1.0)

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        assert posterior is not None
        if (anyway := _look_anyway(posterior)) is not None:
            return anyway
        closest = float(posterior.margins().min())
        # Compared as z: Φ(9) is 1 in floating point, and κ = 1 must always look.
        return LookDecision(
            closest < float(ndtri(self.kappa)),
            f"beats its closest rival with probability {float(ndtr(closest)):.2f}, {self.kappa:g} is required",
        )


@dataclass(frozen=True)
class Disjoint(LookRule):
    """Look unless the confidence interval of x_t lies above all rivals' intervals: κ = Φ(√(2β_t)), or stricter."""

    needs_posterior: ClassVar[bool] = True

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        assert posterior is not None
        if (anyway := _look_anyway(posterior)) is not None:
            return anyway
        half = posterior.root_beta * np.sqrt(posterior.variance)
        low = posterior.mean[posterior.chosen] - half[posterior.chosen]
        high = float((posterior.mean + half)[posterior.rivals].max())
        return LookDecision(bool(high > low), f"its lower bound is {low:.3g}, the best rival's upper bound {high:.3g}")


@dataclass(frozen=True)
class Mixed(LookRule):
    """The two quotas: B1 looks by chance, at most B2 in expectation, the rest where ``Confident`` would look."""

    b1: float
    b2: float
    kappa: float = 0.9
    needs_posterior: ClassVar[bool] = True
    needs_horizon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_between("kappa", self.kappa, 0.0, 1.0)
        if not 0 <= self.b1 <= self.b2:
            raise MethodError(f"b1 is {self.b1!r} and b2 {self.b2!r}; the quotas need 0 ≤ b1 ≤ b2 ≤ horizon")

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        assert progress.horizon is not None
        if progress.chance("look") < self.b1 / progress.horizon:
            return LookDecision(True, f"by chance, {self.b1:g} of {progress.horizon} rounds")
        unsure = Confident(self.kappa).decide(posterior, progress)
        if unsure.look and progress.chance("second look") < (self.b2 - self.b1) / progress.horizon:
            return unsure
        return LookDecision(False, f"{unsure.reason}; not drawn" if unsure.look else unsure.reason)


@dataclass(frozen=True)
class ExpectedLoss(LookRule):
    """Look if max over x of E[(f(x) − f(x_t))⁺] exceeds the threshold, in units of the reward."""

    threshold: float = 0.05
    needs_posterior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_between("threshold", self.threshold, 0.0, math.inf)

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        assert posterior is not None
        if not posterior.scale_known:
            return LookDecision(True, "there are too few readings to know their scale")
        loss = posterior.expected_loss()
        return LookDecision(loss > self.threshold, f"may cost {loss:.3g}, {self.threshold:g} is allowed", loss)


@dataclass(frozen=True)
class Exactly(LookRule):
    """Spend n looks over the horizon, no more and no fewer, where the expected loss is largest.

    A threshold on the expected loss, in units of the prior's standard deviation, follows what is left to spend: it
    rises after a look and falls without one, so that looks come at the rate (looks left)/(rounds left). A policy
    without a posterior gets n rounds drawn at random.
    """

    n: int
    greedy_when_blind: bool = field(default=True, kw_only=True)
    needs_horizon: ClassVar[bool] = True

    # Chosen on 24 paths of the synthetic problem at ε = .003, .01 and .05 that no table uses.
    _GAIN: ClassVar[float] = 0.3
    _FIRST: ClassVar[float] = 0.2

    def __post_init__(self) -> None:
        if self.n < 1 or int(self.n) != self.n:
            raise MethodError(f"n is {self.n!r}; Exactly spends a whole number of looks, at least 1")

    def decide(self, posterior: Posterior | None, progress: Progress) -> LookDecision:
        assert progress.horizon is not None
        looks_left, rounds_left = self.n - progress.looks, progress.horizon - progress.round + 1
        rate = looks_left / rounds_left if rounds_left > 0 else 0.0
        left = f"{looks_left} looks left for {rounds_left} rounds"
        if posterior is None:
            return LookDecision(progress.chance("look") < rate, left)
        loss, scale = posterior.expected_loss(), posterior.scale
        threshold = self._FIRST * loss / scale if progress.memory is None else progress.memory
        look = rate >= 1.0 or (rate > 0.0 and loss > threshold * scale)
        moved = threshold * math.exp(self._GAIN * (float(look) - min(rate, 1.0)))
        return LookDecision(look, f"may cost {loss:.3g}, {threshold * scale:.3g} is allowed; {left}", loss, moved)


def _check_between(name: str, given: float, low: float, high: float) -> None:
    if not low <= given <= high:
        raise MethodError(f"{name} is {given!r}; it must be between {low:g} and {high:g}")
