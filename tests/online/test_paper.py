"""Claims of the papers, tested in small: few paths, wide bars, fixed seeds."""

import math

import numpy as np
import pytest

from shoestring.core.randomness import generator
from shoestring.models.kernels import Kernel
from shoestring.online import TVGPUCB, Always, Bernoulli, Confident, Disjoint, Exactly, ExpectedLoss, OnlineTuner

GRID = np.linspace(0, 1, 200)[:, None]
ROUNDS, RATE, SEEDS = 250, 0.03, 8


@pytest.fixture(scope="module")
def paths():
    root = np.linalg.cholesky(Kernel("matern32", 0.2)(GRID, GRID) + 1e-9 * np.eye(len(GRID)))
    found = []
    for seed in range(SEEDS):
        path = generator(seed, 0, "path").standard_normal((ROUNDS, len(GRID))) @ root.T
        for t in range(1, ROUNDS):
            path[t] = math.sqrt(1 - RATE) * path[t - 1] + math.sqrt(RATE) * path[t]
        found.append(path)
    return found


@pytest.fixture(scope="module")
def outcome(paths):
    def mean_regret_and_looks(rule):
        policy, found = TVGPUCB("matern32", 0.2, 0.01, RATE), []
        for seed, path in enumerate(paths):
            tuner, regret = OnlineTuner(GRID, policy, rule, horizon=ROUNDS, seed=seed), 0.0
            for t in range(ROUNDS):
                round = tuner.ask()
                regret += path[t].max() - path[t, round.arm]
                if round.look:
                    tuner.tell(path[t, round.arm] + 0.1 * generator(seed, t, "noise").standard_normal())
            found.append((regret / ROUNDS, tuner.looks))
        return np.mean(found, axis=0)

    rules = {
        "full": Always(),
        "half": Bernoulli(0.5),
        "blind half": Bernoulli(0.2, greedy_when_blind=True),
        "exact": Exactly(ROUNDS // 5),
        "loss": ExpectedLoss(0.05),
        "lcb": Disjoint(),
        **{kappa: Confident(kappa) for kappa in (0.6, 0.8, 0.95, 0.99)},
    }
    return {name: mean_regret_and_looks(rule) for name, rule in rules.items()}


def test_looks_rise_and_regret_falls_with_kappa(outcome):
    looks = [outcome[name][1] for name in (0.6, 0.8, 0.95, 0.99, "lcb")]
    assert looks == sorted(looks)
    assert looks[0] < 0.3 * ROUNDS < 0.8 * ROUNDS < looks[-1] < ROUNDS
    assert outcome[0.6][0] > 1.3 * outcome[0.99][0]


def test_full_feedback_is_nearly_reached_with_fewer_looks(outcome):
    assert outcome[0.95][0] < 1.25 * outcome["full"][0]
    assert outcome[0.95][1] < 0.8 * ROUNDS
    assert outcome["half"][0] > 1.15 * outcome["full"][0]


def test_expected_loss_needs_fewer_looks_than_confidence_for_the_same_regret(outcome):
    assert outcome["loss"][1] < 0.95 * outcome[0.95][1]
    assert outcome["loss"][0] < 1.1 * outcome[0.95][0]


def test_exactly_beats_chance_at_the_same_number_of_looks(outcome):
    assert outcome["exact"][1] == ROUNDS // 5
    assert outcome["exact"][0] < outcome["blind half"][0]


def test_a_learned_process_tracks_three_moving_arms():
    t, arm = np.arange(600.0)[:, None], np.arange(3)
    rewards = 0.5 + 0.5 * np.sin(2 * np.pi * (t / 400 + arm / 3))
    policy = TVGPUCB(drift="smooth", noise=0.01, variance=0.5)
    regrets = []
    for seed in range(4):
        tuner, regret = OnlineTuner([0, 1, 2], policy, Confident(0.95), horizon=600, seed=seed), 0.0
        for step in range(600):
            now = tuner.ask()
            regret += rewards[step].max() - rewards[step, now.arm]
            if now.look:
                tuner.tell(rewards[step, now.arm] + 0.1 * generator(seed, step, "noise").standard_normal())
        regrets.append(regret / 600)
        assert tuner.looks < 300
    assert np.mean(regrets) < 0.1
