"""Q as printed (Equation 8), Q that also compares with the best loss so far, and the limits of section 3.3.

The limits are claimed for r → ∞, where ν^k is the asymptote of arm k and its variance falls with every observation,
whatever its value. Here ν^k is the unknown mean of an arm with normal observations of equal noise, the simplest belief
with these properties.

======  ==================================================
m, v    posterior mean and variance of every arm's ν
n       how often each arm was pulled
======  ==================================================

The arm with the lowest Q has the largest value of information (the second terms of Equations 6 and 7), which is
compared by its logarithm: after a few hundred pulls the values themselves are lost in rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.budgeted_tuning.pools import TASKS, TRAININGS, regret
from benchmarks.suites.budgeted_tuning.synthetic import BUDGETS, KNOWN, UNITS, drawn, played
from shoestring.methods import BHPT
from shoestring.models.acquisition import log_expected_improvement
from shoestring.models.action_values import best_of_others

PRINTED, OURS = "Equation 8", "with the best loss so far"
SYNTHETIC: dict[str, BHPT] = {"BHPT": BHPT(**KNOWN), "BHPT-ε": BHPT(**KNOWN, epsilon=0.5)}
REAL: dict[str, BHPT] = {"bhpt-paper": BHPT.paper(), "bhpt-paper, ε": BHPT.paper(epsilon=0.5)}
POOLS_SEEDS = 10


def table(options: Options) -> list[Row]:
    """Q as printed and Q with the best loss so far: regret, paired differences"""
    synthetic = {
        f"{who}, B={budget}": _pair(method, range(options.seeds), budget)
        for who, method in SYNTHETIC.items()
        for budget in (BUDGETS[:1] if options.quick else BUDGETS)
    }
    real = {
        f"{who}, {trainings} trainings": _pools(method, range(min(options.seeds, POOLS_SEEDS)), trainings)
        for who, method in REAL.items()
        for trainings in (TRAININGS[:1] if options.quick else TRAININGS)
    }
    rows = [line for name, (printed, ours) in {**synthetic, **real}.items() for line in _rows(name, printed, ours)]
    plain, greedy = REAL
    for trainings in TRAININGS[:1] if options.quick else TRAININGS:
        pair = (real[f"{who}, {trainings} trainings"][0] for who in (greedy, plain))
        gaps = np.subtract(*pair).tolist()
        rows.append(row(f"{greedy} − {plain}, {trainings} trainings: {PRINTED}", gaps))
    return rows


def _rows(name: str, printed: list[float], ours: list[float]) -> list[Row]:
    gaps = np.subtract(printed, ours).tolist()
    return [row(f"{name}: {PRINTED}", printed), row(f"{name}: {OURS}", ours), row(f"{name}: difference", gaps)]


def _pair(method: BHPT, seeds: range, budget: int) -> tuple[list[float], list[float]]:
    """Regrets on curves from the prior, as printed and with the best loss so far."""

    def played_one(variant: BHPT, seed: int) -> float:
        place = key("freeze-thaw prior, q", seed, variant, budget=budget)
        return float(runs().get(place, lambda: played(drawn, seed, variant, budget, UNITS)[0]))

    printed = replace(method, incumbent=False)
    return [played_one(printed, seed) for seed in seeds], [played_one(method, seed) for seed in seeds]


def _pools(method: BHPT, seeds: range, trainings: int) -> tuple[list[float], list[float]]:
    """Regrets on the pools of Figure 2, all tasks together."""
    places = [(task, seed) for task in TASKS for seed in seeds]
    ours = replace(method, incumbent=True)
    printed, other = ([regret(task, who, trainings, seed) for task, seed in places] for who in (method, ours))
    return printed, other


ARMS: dict[str, tuple[float, ...]] = {"two arms": (0.0, 1.0), "five arms": (0.0, 0.5, 1.0, 1.0, 2.0)}
NOISE, PULLS = 1.0, (1_000, 10_000, 100_000)


def pulls(means: tuple[float, ...], last: int, seed: int) -> dict[int, Any]:
    """Return how often each arm was pulled by Q after some numbers of pulls, from a prior N(1, 4)."""
    rng = np.random.default_rng(seed)
    m, v = np.full(len(means), 1.0), np.full(len(means), 4.0)
    n, found = np.zeros(len(means), dtype=int), {}
    for turn in range(1, last + 1):
        gap = np.abs(m - best_of_others(m))
        arm = int(log_expected_improvement(gap, np.sqrt(v), 0.0)[0].argmax())
        gain = v[arm] / (v[arm] + NOISE**2)
        m[arm] += gain * (rng.normal(means[arm], NOISE) - m[arm])
        v[arm] *= 1 - gain
        n[arm] += 1
        if turn in PULLS:
            found[turn] = n.copy()
    return found


def limits(options: Options) -> list[Row]:
    """Section 3.3: pulls of the best arm over those of the second best, and the least pulled arm"""
    marks = PULLS[:1] if options.quick else PULLS
    rows = []
    for name, means in ARMS.items():
        counts = [pulls(means, marks[-1], seed) for seed in range(min(options.seeds, 10))]
        for mark in marks:
            ratios = [float(found[mark][0] / found[mark][1]) for found in counts]
            rows.append(row(f"{name}, {mark} pulls: best over second", ratios))
            rows.append(row(f"{name}, {mark} pulls: least pulled", [float(found[mark].min()) for found in counts]))
    return rows
