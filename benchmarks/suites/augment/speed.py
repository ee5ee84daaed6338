"""The cost of a search step, the reward of the identity, and the quality of estimates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.augment import setting
from shoestring.augment.bandit import Bandit
from shoestring.augment.estimates import estimate_rewards
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import PAIRS, PER_PAIR, POLICIES, decode
from shoestring.augment.reward import TwinNetworks


def _timed(work: Callable[[int], Any], times: int) -> float:
    """CPU milliseconds a call."""
    work(0)
    began = time.process_time()
    for turn in range(times):
        work(turn)
    return (time.process_time() - began) / times * 1000


def table_speed(options: Options) -> list[Row]:
    """A search step and a plain training step, the share of augmentation, and the bandit's own time."""
    torch.set_num_threads(1)
    data, times = setting.split("cifar10"), 40 if options.quick else 300
    (images, labels), (valid_images, valid_labels) = (
        (x[:n], y[:n]) for (x, y), n in ((data.train, 32), (data.valid, 128))
    )
    loss = torch.nn.functional.cross_entropy
    twins = TwinNetworks(setting.network(3), setting.optimizer, loss)
    policies = np.random.default_rng(0).integers(POLICIES, size=times)

    def plain(turn: int) -> None:
        twins._train(twins.model, twins.optimizer, images.float() / 255, labels, turn)

    def augment(turn: int) -> Any:
        operations, levels = decode(policies[turn])
        draws = np.random.default_rng(turn).random((2, len(images), DRAWS))
        return apply_policies(images, operations, levels, draws)

    def step(turn: int) -> None:
        twins.make_equal()
        twins.train(images.float() / 255, augment(turn).float() / 255, labels, turn)
        twins.gain(valid_images.float() / 255, valid_labels)

    # In turns, so that other load on the machine affects all three.
    cost = {name: [] for name in ("plain", "augment", "step")}
    for _ in range(5):
        for name, work in (("plain", plain), ("augment", augment), ("step", step)):
            cost[name].append(_timed(work, times // 5))
    plains, augments, steps = cost["plain"], cost["augment"], cost["step"]
    return [
        row("plain training step, ms", plains),
        row("search step, ms", steps),
        row("search step / plain step", [s / p for s, p in zip(steps, plains, strict=True)], at_most=6),
        row("augmentation / search step", [a / s for a, s in zip(augments, steps, strict=True)], at_most=0.1),
        row("bandit: sample and update, ms", [_bandit(times) for _ in range(5)], at_most=1),
    ]


def _bandit(times: int) -> float:
    bandit, rng = Bandit(), np.random.default_rng(0)
    for policy in rng.integers(POLICIES, size=5000):
        bandit.update(int(policy), rng.normal())
    return _timed(lambda turn: bandit.update(bandit.sample(rng), turn * 0.1), times)


def table_identity(options: Options) -> list[Row]:
    """The largest reward of the identity over a training with batch-norm, dropout and momentum."""
    torch.set_num_threads(1)
    (images, labels), (valid_images, valid_labels) = setting.split("cifar10").train, setting.split("cifar10").valid
    model = torch.nn.Sequential(setting.network(3)[:-1], torch.nn.Dropout(0.5), torch.nn.Linear(64, 10))
    twins = TwinNetworks(model, setting.optimizer, torch.nn.functional.cross_entropy)
    gains = []
    for turn in range(20 if options.quick else 100):
        part = slice(turn % 15 * 32, turn % 15 * 32 + 32)
        x = images[part].float() / 255
        same = apply_policies(images[part], [0, 4], [0, 0], np.random.default_rng(turn).random((2, 32, DRAWS)))
        twins.make_equal()
        twins.train(x, same.float() / 255, labels[part], turn)
        gains.append(abs(twins.gain(valid_images[:128].float() / 255, valid_labels[:128])))
    return [Row("largest reward", max(gains), n=len(gains), at_most=1e-5)]


def table_simulated(options: Options) -> list[Row]:
    """Estimates for simulated policies with known values: the true value of what is chosen, in standard deviations.

    Effects of operations, pairs and policies with standard deviations .1, .05 and .05, rewards with .35, 2,000 plays.
    """
    values: dict[str, list[float]] = {"mean": [], "shrunk": []}
    for seed in range(5 if options.quick else 50):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(0, 0.1, (2, 15))
        pairs = (first[:, None] + second[None, :]).ravel() + rng.normal(0, 0.05, PAIRS)
        truth = np.repeat(pairs, PER_PAIR) + rng.normal(0, 0.05, POLICIES)
        arms = rng.integers(POLICIES, size=2000)
        rewards = truth[arms] + rng.normal(0, 0.35, len(arms))
        counts = np.bincount(arms, minlength=POLICIES)
        totals, squares = (np.bincount(arms, weights=w, minlength=POLICIES) for w in (rewards, rewards**2))
        for kind, found in values.items():
            estimates = np.where(counts > 0, estimate_rewards(counts, totals, squares, kind).policies, -np.inf)
            found.append(float(truth[np.argsort(-estimates)[:300]].mean() - truth.mean()) / float(truth.std()))
    return [row(f"{kind}: true value of the best 300", found) for kind, found in values.items()]
