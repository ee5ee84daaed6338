"""What to play, without a model of likeness: UCB1, ε-greedy, Boltzmann exploration and EXP3.S on a list of arms.

====== ============================================================ ======
symbol meaning                                                      shape
====== ============================================================ ======
K      number of arms                                               scalar
n      readings of each arm                                         (K,)
m      estimated reward of each arm                                 (K,)
w      EXP3.S weights, kept as logarithms                           (K,)
p      probability of playing each arm                              (K,)
====== ============================================================ ======

References: Auer, Cesa-Bianchi, Fischer (2002) for UCB1; Auer, Cesa-Bianchi, Freund, Schapire (2002),
section 8, for EXP3.S; Kuleshov and Precup (2000) for ε-greedy and softmax. Under costly feedback they
update in the rounds that were looked at and play on in the others.

Differs from them in ``step``: with a constant step the estimate follows a reward that changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.online.domains import Arms, Domain
from shoestring.online.view import Player, View

Array = NDArray[np.float64]


@dataclass(frozen=True)
class UCB1:
    """argmax m + width·√(2·ln t / n); an arm without a reading comes first."""

    width: float = 1.0
    step: float | None = None
    has_posterior = False
    spatial_kernel = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        def choose(round: int, estimates: Array, counts: Array) -> int:
            unread = np.flatnonzero(counts == 0)
            if len(unread):
                return int(generator(seed, round, "arm").choice(unread))
            return int(np.argmax(estimates + self.width * np.sqrt(2.0 * math.log(round) / counts)))

        return AveragePlayer(_arms(self, domain), choose, self.step)


@dataclass(frozen=True)
class EpsilonGreedy:
    """The best estimate, and with probability ε any arm."""

    epsilon: float = 0.1
    step: float | None = None
    has_posterior = False
    spatial_kernel = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        def choose(round: int, estimates: Array, counts: Array) -> int:
            rng = generator(seed, round, "arm")
            explore = rng.random() < self.epsilon
            return int(rng.integers(len(estimates)) if explore else _argmax(estimates, rng))

        return AveragePlayer(_arms(self, domain), choose, self.step)


@dataclass(frozen=True)
class Softmax:
    """An arm with probability proportional to exp(m / temperature)."""

    temperature: float = 0.1
    step: float | None = None
    has_posterior = False
    spatial_kernel = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        def choose(round: int, estimates: Array, counts: Array) -> int:
            p = np.exp((estimates - estimates.max()) / self.temperature)
            return int(generator(seed, round, "arm").choice(len(p), p=p / p.sum()))

        return AveragePlayer(_arms(self, domain), choose, self.step)


@dataclass(frozen=True)
class EXP3S:
    """Exponential weights that share, for rewards within ``low`` and ``high``.

    Left out, α = 1/T and γ = min(1, √(K(S·ln(KT) + e)/((e−1)T))) for S changes of the best arm
    (corollary 8.2), with T the horizon or 1,000.
    """

    changes: int = 5
    gamma: float | None = None
    alpha: float | None = None
    low: float = 0.0
    high: float = 1.0
    has_posterior = False
    spatial_kernel = None

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Player:
        arms, T = _arms(self, domain), horizon or 1000
        tuned = math.sqrt(arms * (self.changes * math.log(arms * T) + math.e) / ((math.e - 1) * T))
        gamma = min(1.0, tuned) if self.gamma is None else self.gamma
        return WeightPlayer(arms, gamma, self.alpha or 1.0 / T, (self.low, self.high), seed)


def _arms(policy: Any, domain: Domain) -> int:
    if isinstance(domain, Arms):
        return len(domain)
    raise MethodError(f"{type(policy).__name__} plays a list of arms; give one, or use TVGPUCB for a continuous space")


def _argmax(values: Array, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(values == values.max())))


def _plain_view(chosen: int, estimates: Array) -> View:
    return View(
        candidates=range(len(estimates)),
        chosen=chosen,
        mean=estimates,
        variance=None,
        scale=1.0,
        informed=True,
        root_beta=0.0,
        find_rivals=lambda: np.flatnonzero(np.arange(len(estimates)) != chosen),
        covariance=lambda: np.zeros(len(estimates)),
        exploit=lambda: int(np.argmax(estimates)),
    )


class AveragePlayer:
    """Estimates by running averages; ``choose`` turns them into an arm."""

    def __init__(self, arms: int, choose: Callable[[int, Array, Array], int], step: float | None) -> None:
        self._choose, self._step = choose, step
        self._estimates, self._counts = np.zeros(arms), np.zeros(arms)

    @property
    def readings(self) -> int:
        return int(self._counts.sum())

    def view(self, round: int) -> View:
        return _plain_view(self._choose(round, self._estimates, self._counts), self._estimates)

    def observe(self, round: int, candidate: int, value: float) -> None:
        self._counts[candidate] += 1
        step = 1.0 / self._counts[candidate]
        if self._step is not None:
            step = max(step, self._step)
        self._estimates[candidate] += step * (value - self._estimates[candidate])

    def state(self) -> dict[str, Any]:
        return {"estimates": self._estimates, "counts": self._counts}

    def restore(self, state: dict[str, Any]) -> None:
        self._estimates, self._counts = state["estimates"].copy(), state["counts"].copy()


class WeightPlayer:
    """EXP3.S: p = (1−γ)·w/Σw + γ/K, and a reading updates by reward/p."""

    def __init__(self, arms: int, gamma: float, alpha: float, scale: tuple[float, float], seed: int) -> None:
        self._gamma, self._alpha, self._scale, self._seed = gamma, alpha, scale, seed
        self._logs = np.zeros(arms)
        self.readings = 0

    def _probabilities(self) -> Array:
        w = np.exp(self._logs - self._logs.max())
        return np.asarray((1 - self._gamma) * w / w.sum() + self._gamma / len(w))

    def view(self, round: int) -> View:
        p = self._probabilities()
        return _plain_view(int(generator(self._seed, round, "arm").choice(len(p), p=p)), p)

    def observe(self, round: int, candidate: int, value: float) -> None:
        low, high = self._scale
        reward = min(max((value - low) / (high - low), 0.0), 1.0)
        w = np.exp(self._logs - self._logs.max())
        shared = math.e * self._alpha / len(w) * w.sum()
        grown = w.copy()
        grown[candidate] *= math.exp(self._gamma * reward / self._probabilities()[candidate] / len(w))
        self._logs = np.log(grown + shared)
        self.readings += 1

    def state(self) -> dict[str, Any]:
        return {"logs": self._logs, "readings": self.readings}

    def restore(self, state: dict[str, Any]) -> None:
        self._logs, self.readings = state["logs"].copy(), int(state["readings"])
