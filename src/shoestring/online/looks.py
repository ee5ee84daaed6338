"""When to look: rules that decide whether this round's reading is worth paying for.

=============== ==========================================================================
Always          full feedback
Bernoulli(p)    with a fixed probability (section 4.2)
Confident(κ)    unless x_t beats every rival with probability κ (Algorithm 1, line 4)
Disjoint()      unless lcb(x_t) ≥ ucb of every rival (Lemma 1 of 2021, Lemma 8 with proofs)
Mixed(B1,B2,κ)  Bernoulli(B1/T), else Confident(κ) and Bernoulli((B2−B1)/T) (lines 4 and 8)
ExpectedLoss(θ) if playing x_t may cost more than θ in this round (beyond the papers)
Exactly(n)      n times over the horizon, where it is worth most (beyond the papers)
=============== ==========================================================================

Every rule takes ``greedy_when_blind``: a round without a look then plays the best mean instead of
x_t, since exploring unseen buys nothing (beyond the papers).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from shoestring.errors import MethodError
from shoestring.online.view import View


@dataclass(frozen=True)
class Progress:
    """How far the run is: this round's number from 1, the horizon, the looks so far, what the rule left last time."""

    round: int
    horizon: int | None
    looks: int
    memory: float | None
    chance: Callable[[str], float]


@dataclass(frozen=True)
class Verdict:
    """To look or not, why, what a look is worth by this rule, and what the rule wants to remember."""

    look: bool
    reason: str
    worth: float | None = None
    memory: float | None = None


_UNINFORMED = Verdict(True, "too little has been read to know the scale of the readings")


class LookRule(Protocol):
    @property
    def greedy_when_blind(self) -> bool: ...

    @property
    def needs_posterior(self) -> bool: ...

    @property
    def needs_horizon(self) -> bool: ...

    def decide(self, view: View, progress: Progress) -> Verdict: ...


@dataclass(frozen=True)
class Always:
    """Look in every round."""

    greedy_when_blind: bool = False
    needs_posterior = False
    needs_horizon = False

    def decide(self, view: View, progress: Progress) -> Verdict:
        return Verdict(True, "every round is looked at")


@dataclass(frozen=True)
class Bernoulli:
    """Look with probability p, whatever is known."""

    p: float
    greedy_when_blind: bool = False
    needs_posterior = False
    needs_horizon = False

    def __post_init__(self) -> None:
        _within("p", self.p, 0.0, 1.0)

    def decide(self, view: View, progress: Progress) -> Verdict:
        return Verdict(progress.chance("look") < self.p, f"by chance, {self.p:g} of the rounds")


@dataclass(frozen=True)
class Confident:
    """The cost-efficient rule: look if P(f(x_t) > f(x)) < κ for some rival x, or if there is no rival at all."""

    kappa: float = 0.9
    greedy_when_blind: bool = False
    needs_posterior = True
    needs_horizon = False

    def __post_init__(self) -> None:
        _within("kappa", self.kappa, 0.0, 1.0)

    def decide(self, view: View, progress: Progress) -> Verdict:
        if not view.informed:
            return _UNINFORMED
        if not len(view.rivals):
            return Verdict(True, "there is no rival to be confident against")
        closest = float(view.margins().min())
        # Compared as z: Φ(9) is 1 in floating point, and κ = 1 must always look.
        return Verdict(
            closest < float(ndtri(self.kappa)),
            f"beats its closest rival with probability {float(ndtr(closest)):.2f}, {self.kappa:g} is asked for",
        )


@dataclass(frozen=True)
class Disjoint:
    """Look unless the confidence interval of x_t lies above those of all rivals: κ = Φ(√(2β_t)), or stricter."""

    greedy_when_blind: bool = False
    needs_posterior = True
    needs_horizon = False

    def decide(self, view: View, progress: Progress) -> Verdict:
        assert view.variance is not None
        if not view.informed:
            return _UNINFORMED
        if not len(view.rivals):
            return Verdict(True, "there is no rival to be confident against")
        half = view.root_beta * np.sqrt(view.variance)
        low = view.mean[view.chosen] - half[view.chosen]
        high = float((view.mean + half)[view.rivals].max())
        return Verdict(bool(high > low), f"its lower bound is {low:.3g}, the best rival's upper bound {high:.3g}")


@dataclass(frozen=True)
class Mixed:
    """The two quotas: B1 looks by chance, at most B2 in expectation, the rest where the rule fires."""

    b1: float
    b2: float
    kappa: float = 0.9
    greedy_when_blind: bool = False
    needs_posterior = True
    needs_horizon = True

    def __post_init__(self) -> None:
        _within("kappa", self.kappa, 0.0, 1.0)
        if not 0 <= self.b1 <= self.b2:
            raise MethodError(f"b1 is {self.b1!r} and b2 {self.b2!r}; the quotas need 0 ≤ b1 ≤ b2 ≤ horizon")

    def decide(self, view: View, progress: Progress) -> Verdict:
        assert progress.horizon is not None
        if progress.chance("look") < self.b1 / progress.horizon:
            return Verdict(True, f"by chance, {self.b1:g} of {progress.horizon} rounds")
        fired = Confident(self.kappa).decide(view, progress)
        if fired.look and progress.chance("second look") < (self.b2 - self.b1) / progress.horizon:
            return fired
        return Verdict(False, f"{fired.reason}; not drawn" if fired.look else fired.reason)


@dataclass(frozen=True)
class ExpectedLoss:
    """Look if max over x of E[(f(x) − f(x_t))⁺] exceeds the threshold, in units of the reward."""

    threshold: float = 0.05
    greedy_when_blind: bool = False
    needs_posterior = True
    needs_horizon = False

    def __post_init__(self) -> None:
        _within("threshold", self.threshold, 0.0, math.inf)

    def decide(self, view: View, progress: Progress) -> Verdict:
        if not view.informed:
            return _UNINFORMED
        worth = view.worth()
        return Verdict(worth > self.threshold, f"may cost {worth:.3g}, {self.threshold:g} is allowed", worth)


@dataclass(frozen=True)
class Exactly:
    """Spend n looks over the horizon, no more and no fewer, where the expected loss is largest.

    A threshold on the expected loss, in units of the prior's deviation, follows what is left to
    spend: it rises by a look and falls without one, so that looks come at the rate (looks left)/(rounds
    left). A policy without a posterior gets n rounds drawn at random.
    """

    n: int
    greedy_when_blind: bool = True
    needs_posterior = False
    needs_horizon = True

    # Chosen on 24 paths of the synthetic problem at ε = .003, .01 and .05 that no table uses.
    _GAIN = 0.3
    _FIRST = 0.2

    def __post_init__(self) -> None:
        if self.n < 1 or int(self.n) != self.n:
            raise MethodError(f"n is {self.n!r}; Exactly spends a whole number of looks, at least 1")

    def decide(self, view: View, progress: Progress) -> Verdict:
        assert progress.horizon is not None
        looks_left, rounds_left = self.n - progress.looks, progress.horizon - progress.round + 1
        rate = looks_left / rounds_left if rounds_left > 0 else 0.0
        reason = f"{looks_left} looks left for {rounds_left} rounds"
        if view.variance is None:
            return Verdict(progress.chance("look") < rate, reason)
        worth = view.worth()
        threshold = self._FIRST * worth / view.scale if progress.memory is None else progress.memory
        look = rate >= 1.0 or (rate > 0.0 and worth > threshold * view.scale)
        moved = threshold * math.exp(self._GAIN * (float(look) - min(rate, 1.0)))
        return Verdict(look, f"may cost {worth:.3g}, {threshold * view.scale:.3g} is allowed; {reason}", worth, moved)


def _within(name: str, given: float, low: float, high: float) -> None:
    if not low <= given <= high:
        raise MethodError(f"{name} is {given!r}; it must be between {low:g} and {high:g}")
