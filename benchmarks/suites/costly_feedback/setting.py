"""The two synthetic problems of Wang et al. (2020, 2021), and how a tuner plays them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.kept import key, runs
from shoestring import online
from shoestring.core.randomness import generator
from shoestring.models.kernels import Kernel

Array = NDArray[np.float64]
Contenders = dict[str, tuple[Any, Any]]  # a policy and a look rule by name

GRID = np.linspace(0.0, 1.0, 1000)[:, None]
ROUNDS = 500
RATES = (0.003, 0.005, 0.01, 0.03, 0.05)
NOISE = 0.01


def moving_function(seed: int, rate: float) -> Array:
    """f_{t+1} = √(1−ε)·f_t + √ε·g_{t+1} on the grid, shape (rounds, 1000) (section 5.1)."""
    draws = generator(seed, round(rate * 1e4), "path").standard_normal((ROUNDS, len(GRID))) @ _root().T
    for t in range(1, ROUNDS):
        draws[t] = math.sqrt(1 - rate) * draws[t - 1] + math.sqrt(rate) * draws[t]
    return np.asarray(draws)


@cache
def _root() -> Array:
    return np.linalg.cholesky(Kernel("matern32", 0.2)(GRID, GRID) + 1e-9 * np.eye(len(GRID)))


def play(tuner: online.OnlineTuner, rewards: Array, seed: int) -> tuple[float, int]:
    """Average regret and number of looks; ``rewards`` has one row per round."""
    return float(regrets(tuner, rewards, seed).mean()), tuner.looks


def regrets(tuner: online.OnlineTuner, rewards: Array, seed: int) -> Array:
    """The regret of every round."""
    noise = math.sqrt(NOISE) * generator(seed, 0, "noise").standard_normal(len(rewards))
    lost = rewards.max(axis=1)
    for t in range(len(rewards)):
        now = tuner.ask()
        assert now.arm is not None
        value = rewards[t, now.arm]
        lost[t] -= value
        if now.look:
            tuner.tell(value + noise[t])
    return np.asarray(lost)


def known(rate: float, **changes: Any) -> online.TVGPUCB:
    """The settings that match Table A2: everything known, √β_t with β_t = 0.8·log(4t)."""
    return online.TVGPUCB("matern32", lengthscale=0.2, noise=NOISE, forgetting=rate, **changes)


def on_the_same_paths(
    contenders: Callable[[float], Contenders], rates: Sequence[float], seeds: int
) -> Iterator[tuple[float, str, Array]]:
    """Per rate and contender: regret and looks of every seed, shape (seeds, 2). Finished runs are kept (kept.py)."""
    for rate in rates:
        found: dict[str, list[tuple[float, int]]] = {}
        for seed in range(seeds):
            for name, (policy, rule) in contenders(rate).items():
                identity = key("moving function", seed, f"{policy}, {rule}", rate=rate, rounds=ROUNDS)
                found.setdefault(name, []).append(
                    runs().get(identity, lambda: _played(seed, rate, policy, rule))  # noqa: B023
                )
        for name, values in found.items():
            yield rate, name, np.array(values)


def _played(seed: int, rate: float, policy: Any, rule: Any) -> tuple[float, int]:
    tuner = online.OnlineTuner(GRID, policy, rule, horizon=ROUNDS, seed=seed)
    return play(tuner, _last_path(seed, rate), seed)


@lru_cache(1)
def _last_path(seed: int, rate: float) -> Array:
    return moving_function(seed, rate)


def bandit_problems() -> dict[str, Array]:
    """Our own three: the paper only draws its reward functions. Shape (2000, 3) each."""
    t, arm = np.arange(2000.0)[:, None], np.arange(3)
    thirds = np.minimum(t.astype(int) * 3 // 2000, 2)
    return {
        "Sine": 0.5 + 0.5 * np.sin(2 * np.pi * (t / 1000 + arm / 3)),
        "Gaussian": np.exp(-0.5 * np.square((t - np.array([400.0, 1000.0, 1600.0])) / 200)),
        "Piecewise": np.array([0.1, 0.5, 0.9])[(thirds + arm) % 3],
    }


def contenders_a1() -> Contenders:
    # Rewards lie in [0, 1], so a prior variance of a half covers them; the temporal length-scale is learned online.
    process = online.TVGPUCB(drift="smooth", noise=NOISE, variance=0.5)
    chance = online.Bernoulli(0.1)
    return {
        "EXP3.S": (online.EXP3S(), chance),
        "EXP3.R": (online.EXP3R(), chance),
        "ε-greedy": (online.EpsilonGreedy(0.1, step=0.2), chance),
        "Softmax": (online.Softmax(0.1, step=0.2), chance),
        "UCB": (online.UCB1(), chance),
        "GP-UCB": (process, chance),
        "CE-GP-UCB": (process, online.Confident(0.95)),
        "ExpectedLoss(0.02)": (process, online.ExpectedLoss(0.02)),
    }
