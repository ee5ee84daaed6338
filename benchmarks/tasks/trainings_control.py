"""A policy that balances a pole on a cart, trained by random search: a task whose readings are returns to maximise.

Mania, Guy and Recht, Simple random search provides a competitive approach to reinforcement learning, 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.tasks.trainings_data import Array

VALIDATION, TEST, TIME = 150, 450, 100  # start states, and how long an episode can last
RANGES = np.array([1.5, 1.0, 0.25, 1.5])  # of position, speed, angle and angular speed at the start

SPACE = ss.space(
    rate=ss.log(1e-3, 3.0),
    radius=ss.log(0.01, 3.0),
    directions=ss.log(1, 16),
    best_share=(0.2, 1.0),
    episodes=ss.log(1, 16),
    scaled=[True, False],
    shrink=ss.log(1e-4, 0.3),
)


def balanced_pole(config: Mapping[str, Any], seed: int) -> Iterator[ss.Reading]:
    """One step tries some directions around the weights of a linear policy and moves along the best of them."""
    rng, weights = np.random.default_rng(seed), np.zeros(4)
    count, kept = config["directions"], max(1, round(config["best_share"] * config["directions"]))
    while True:
        directions = rng.normal(size=(count, 4))
        tried = np.concatenate([weights + config["radius"] * directions, weights - config["radius"] * directions])
        returns = _returns(tried, _starts(rng, config["episodes"])).mean(1)
        ahead, behind = returns[:count], returns[count:]
        best = np.argsort(-np.maximum(ahead, behind), kind="stable")[:kept]
        move = (ahead - behind)[best] @ directions[best] / kept
        if config["scaled"]:
            move /= np.concatenate([ahead[best], behind[best]]).std() + 1e-3
        weights = (1 - config["shrink"]) * weights + config["rate"] * move
        held_out = _returns(weights[None], _held_out_starts())[0]
        yield ss.Reading(float(held_out[:VALIDATION].mean()), test=float(held_out[VALIDATION:].mean()))


@cache
def _held_out_starts() -> Array:
    return _starts(np.random.default_rng(0), VALIDATION + TEST)


def _starts(rng: np.random.Generator, count: int) -> Array:
    """Start states, shape (count, 4); even a good policy does not recover from all of them."""
    return rng.uniform(-1, 1, size=(count, 4)) * RANGES


def _returns(policies: Array, starts: Array) -> Array:
    """The share of an episode before the pole falls or the cart leaves the track; shape (policies, starts)."""
    state = np.broadcast_to(starts, (len(policies), *starts.shape)).copy()
    gains, upright, total = policies[:, None, :] / RANGES, np.ones(state.shape[:2], bool), np.zeros(state.shape[:2])
    for _ in range(TIME):
        force = 10 * np.tanh((state * gains).sum(2))
        _, speed, angle, turn = np.moveaxis(state, 2, 0)
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * turn**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        change = np.stack([speed, push - 0.05 * turning * cosine / 1.1, turn, turning], axis=2)
        state = np.where(upright[..., None], state + 0.04 * change, state)
        upright &= (np.abs(state[..., 0]) < 2.4) & (np.abs(state[..., 2]) < 0.4)
        total += upright
        if not upright.any():
            break
    return total / TIME
