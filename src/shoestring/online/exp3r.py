"""EXP3.R: exponential weights that start over when another arm has become better.

Allesiardo and Féraud, EXP3 with drift detection for the switching bandit problem, DSAA 2015; a baseline of Wang, Ren,
Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization, ACML 2021, Table 1.

====== ==================================================================== ======
symbol meaning                                                              shape
====== ==================================================================== ======
K      number of arms                                                       scalar
γ      the probability of playing any arm, whatever its weight              scalar
w, p   weights, kept as logarithms; probability of playing each arm         (K,)
n_k    readings of arm k in rounds of pure exploration, in this interval    (K,)
μ̂_k    their mean                                                           (K,)
H, δ   length of an interval; probability of a false alarm                  scalar
ε      √(K·ln(1/δ) / (2γH)), the width of the test                          scalar
====== ==================================================================== ======

An interval ends when every arm has γH/K readings of pure exploration. If then some arm's mean exceeds that of the arm
with the largest weight by 2ε, all weights are reset (the paper's Algorithm 2 and 3).

Differs from the paper in that only rounds with a reading count, as in all policies under costly feedback; and in the
default of H. The paper's √(T·ln T) makes the test 2ε wider than the rewards for horizons of a few thousand rounds, so
that it never fires; here H is what makes 2ε half of the range of the rewards. With few readings no interval ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoestring._arrays import Array
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.online.bandits import arms_of
from shoestring.online.domains import Domain
from shoestring.online.suggestion import Agent, Suggestion


@dataclass(frozen=True)
class EXP3R:
    """Exponential weights with drift detection, for rewards between ``low`` and ``high``.

    ``interval`` is H; left out, 8·K·ln(1/δ)/γ.
    """

    gamma: float = 0.2
    interval: int | None = None
    delta: float = 0.1
    low: float = 0.0
    high: float = 1.0
    has_posterior: ClassVar[bool] = False
    kernel: ClassVar[None] = None

    def __post_init__(self) -> None:
        for name in ("gamma", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise MethodError(f"{name} is {getattr(self, name)!r}; it must be a probability between 0 and 1")

    def start(self, domain: Domain, horizon: int | None, seed: int) -> Agent:
        arms = arms_of(self, domain)
        wide = math.ceil(8 * arms * math.log(1 / self.delta) / self.gamma)
        return _DriftAgent(self, arms, self.interval or max(1, wide), seed)


class _DriftAgent:
    def __init__(self, policy: EXP3R, arms: int, interval: int, seed: int) -> None:
        self._policy, self._interval, self._seed = policy, interval, seed
        self._logs, self._sums, self._counts = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        self.readings = 0

    def _probabilities(self) -> Array:
        w = np.exp(self._logs - self._logs.max())
        return np.asarray((1 - self._policy.gamma) * w / w.sum() + self._policy.gamma / len(w))

    def _draw(self, round: int) -> tuple[int, bool]:
        """The arm of a round, and whether it was drawn whatever its weight."""
        rng, gamma, arms = generator(self._seed, round, "arm"), self._policy.gamma, len(self._logs)
        if rng.random() < gamma:
            return int(rng.integers(arms)), True
        w = np.exp(self._logs - self._logs.max())
        return int(rng.choice(arms, p=w / w.sum())), False

    def suggest(self, round: int) -> Suggestion:
        return Suggestion(self._draw(round)[0], lambda: int(np.argmax(self._logs)))

    def observe(self, round: int, candidate: int, value: float) -> None:
        low, high = self._policy.low, self._policy.high
        reward = min(max((value - low) / (high - low), 0.0), 1.0)
        explored = self._draw(round)[1]
        self._logs[candidate] += self._policy.gamma * reward / self._probabilities()[candidate] / len(self._logs)
        self.readings += 1
        if explored:
            self._sums[candidate] += reward
            self._counts[candidate] += 1
            self._test()

    def _test(self) -> None:
        """At the end of an interval: has another arm become better than the one with the largest weight?"""
        gamma, arms = self._policy.gamma, len(self._logs)
        if self._counts.min() < max(1.0, gamma * self._interval / arms):
            return
        width = math.sqrt(arms * math.log(1 / self._policy.delta) / (2 * gamma * self._interval))
        means = self._sums / self._counts
        if means.max() - means[int(np.argmax(self._logs))] >= 2 * width:
            self._logs = np.zeros(arms)
        self._sums, self._counts = np.zeros(arms), np.zeros(arms)

    def state(self) -> dict[str, Any]:
        return {"logs": self._logs, "sums": self._sums, "counts": self._counts, "readings": self.readings}

    def restore(self, state: dict[str, Any]) -> None:
        self._logs, self._sums, self._counts = (state[name].copy() for name in ("logs", "sums", "counts"))
        self.readings = int(state["readings"])
