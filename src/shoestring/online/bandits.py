"""Policies without a model of similarity, on a list of arms: UCB1, ε-greedy, Boltzmann exploration and EXP3.S.

====== ============================================================ ======
symbol meaning                                                      shape
====== ============================================================ ======
K      number of arms                                               scalar
n      readings of each arm                                         (K,)
m      estimated reward of each arm                                 (K,)
w      EXP3.S weights, kept as logarithms                           (K,)
p      probability of playing each arm                              (K,)
====== ============================================================ ======

References: Auer, Cesa-Bianchi and Fischer, Finite-time analysis of the multiarmed bandit problem (2002) for UCB1;
Auer, Cesa-Bianchi, Freund and Schapire, The nonstochastic multiarmed bandit problem (2002), section 8, for EXP3.S;
Kuleshov and Precup, Algorithms for multi-armed bandit problems (2000) for ε-greedy and softmax. Under costly
feedback they update in the rounds with a reading and play on in the others.

Differs from them in ``step``: with a constant step the estimate follows a reward that changes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoestring._arrays import Array
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.online.domains import Arms, Domain
from shoestring.online.suggestion import Agent, Suggestion


@dataclass(frozen=True)
class _AveragePolicy(ABC):
    """A policy that chooses by the running average of each arm."""

    step: float | None = field(default=None, kw_only=True)
    has_posterior: ClassVar[bool] = False
    kernel: ClassVar[None] = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        return _AverageAgent(self, arms_of(self, domain), seed)

    @abstractmethod
    def choose(self, round: int, estimates: Array, counts: Array, rng: np.random.Generator) -> int:
        """The arm of this round."""


@dataclass(frozen=True)
class UCB1(_AveragePolicy):
    """argmax m + width·√(2·ln t / n); an arm without a reading comes first."""

    width: float = 1.0

    def choose(self, round: int, estimates: Array, counts: Array, rng: np.random.Generator) -> int:
        unread = np.flatnonzero(counts == 0)
        if len(unread):
            return int(rng.choice(unread))
        return int(np.argmax(estimates + self.width * np.sqrt(2.0 * math.log(round) / counts)))


@dataclass(frozen=True)
class EpsilonGreedy(_AveragePolicy):
    """The best estimate, ties at random; with probability ε any arm."""

    epsilon: float = 0.1

    def choose(self, round: int, estimates: Array, counts: Array, rng: np.random.Generator) -> int:
        if rng.random() < self.epsilon:
            return int(rng.integers(len(estimates)))
        return int(rng.choice(np.flatnonzero(estimates == estimates.max())))


@dataclass(frozen=True)
class Softmax(_AveragePolicy):
    """An arm with probability proportional to exp(m / temperature)."""

    temperature: float = 0.1

    def choose(self, round: int, estimates: Array, counts: Array, rng: np.random.Generator) -> int:
        p = np.exp((estimates - estimates.max()) / self.temperature)
        return int(rng.choice(len(p), p=p / p.sum()))


@dataclass(frozen=True)
class EXP3S:
    """Exponential weights with sharing, for rewards between ``low`` and ``high``.

    Left out, α = 1/T and γ = min(1, √(K(S·ln(KT) + e)/((e−1)T))) for S changes of the best arm
    (corollary 8.2), with T the horizon or 1,000.
    """

    changes: int = 5
    gamma: float | None = None
    alpha: float | None = None
    low: float = 0.0
    high: float = 1.0
    has_posterior: ClassVar[bool] = False
    kernel: ClassVar[None] = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        arms, T = arms_of(self, domain), horizon or 1000
        tuned = math.sqrt(arms * (self.changes * math.log(arms * T) + math.e) / ((math.e - 1) * T))
        gamma = min(1.0, tuned) if self.gamma is None else self.gamma
        return _WeightAgent(arms, gamma, self.alpha or 1.0 / T, (self.low, self.high), seed)


def arms_of(policy: Any, domain: Domain) -> int:
    """Return the number of arms; raise an error without a list of them."""
    if isinstance(domain, Arms):
        return len(domain)
    raise MethodError(f"{type(policy).__name__} plays a list of arms; give one, or use TVGPUCB for a continuous space")


class _AverageAgent:
    def __init__(self, policy: _AveragePolicy, arms: int, seed: int) -> None:
        self._policy, self._seed = policy, seed
        self._estimates, self._counts = np.zeros(arms), np.zeros(arms)

    @property
    def readings(self) -> int:
        return int(self._counts.sum())

    def suggest(self, round: int) -> Suggestion:
        rng = generator(self._seed, round, "arm")
        chosen = self._policy.choose(round, self._estimates, self._counts, rng)
        return Suggestion(chosen, lambda: int(np.argmax(self._estimates)))

    def observe(self, round: int, candidate: int, value: float) -> None:
        self._counts[candidate] += 1
        step = max(1.0 / self._counts[candidate], self._policy.step or 0.0)
        self._estimates[candidate] += step * (value - self._estimates[candidate])

    def state(self) -> dict[str, Any]:
        return {"estimates": self._estimates, "counts": self._counts}

    def restore(self, state: dict[str, Any]) -> None:
        self._estimates, self._counts = state["estimates"].copy(), state["counts"].copy()


class _WeightAgent:
    """EXP3.S: p = (1−γ)·w/Σw + γ/K, and a reading updates by reward/p."""

    def __init__(self, arms: int, gamma: float, alpha: float, scale: tuple[float, float], seed: int) -> None:
        self._gamma, self._alpha, self._scale, self._seed = gamma, alpha, scale, seed
        self._logs = np.zeros(arms)
        self.readings = 0

    def _weights(self) -> Array:
        return np.asarray(np.exp(self._logs - self._logs.max()))

    def _probabilities(self) -> Array:
        w = self._weights()
        return np.asarray((1 - self._gamma) * w / w.sum() + self._gamma / len(w))

    def suggest(self, round: int) -> Suggestion:
        p = self._probabilities()
        return Suggestion(int(generator(self._seed, round, "arm").choice(len(p), p=p)), lambda: int(np.argmax(p)))

    def observe(self, round: int, candidate: int, value: float) -> None:
        low, high = self._scale
        reward = min(max((value - low) / (high - low), 0.0), 1.0)
        w = self._weights()
        shared = math.e * self._alpha / len(w) * w.sum()
        w[candidate] *= math.exp(self._gamma * reward / self._probabilities()[candidate] / len(w))
        self._logs = np.log(w + shared)
        self.readings += 1

    def state(self) -> dict[str, Any]:
        return {"logs": self._logs, "readings": self.readings}

    def restore(self, state: dict[str, Any]) -> None:
        self._logs, self.readings = state["logs"].copy(), int(state["readings"])
