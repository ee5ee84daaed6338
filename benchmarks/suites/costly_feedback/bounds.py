"""The two quotas, the cumulative loss L_T = R_T + C_T, and what Theorem 4 and Corollary 6 bound it by; Lemma 8.

======  ==============================================================================================
T, ε    rounds; forgetting rate
B1, B2  looks by chance; the most looks in expectation
β_T     2·log(|D|·T²·π² / (6δ)) (Theorem 4)
C1      8 / log(1 + σ⁻²) (Eq. 31)
γ_n     the largest information gain of n readings of one function, by greedy choice on the grid
γ̃       that of the looks, at most min over n of (B1/n + 1)(γ_n + (T/B1)·n³·ε) (Lemma 5)
η, c    T/B1; d(d+1) / (2ν + d(d+1)) for a Matérn kernel (Corollary 6)
======  ==============================================================================================

The proof of the theorem uses Lemma 1 (2020), which is false, so these are the printed bounds and no guarantee.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.costly_feedback.setting import GRID, NOISE, ROUNDS, Contenders, known, on_the_same_paths
from shoestring import online
from shoestring.core.randomness import generator
from shoestring.models.kernels import Kernel
from shoestring.models.time_varying import ArmFilter

QUOTAS = ((25, 25), (25, 100), (25, 500), (100, 100), (100, 250), (100, 500), (250, 250), (250, 500))
RATES = (0.003, 0.05)
KAPPA, DELTA = 0.9, 0.1


@cache
def information_gains(most: int = ROUNDS) -> tuple[float, ...]:
    """γ_n for n = 0 … most: each reading where the posterior variance is largest (Srinivas et al. 2010)."""
    K = Kernel("matern32", 0.2)(GRID, GRID)
    variance, columns, gains = np.diag(K).copy(), list[np.ndarray](), [0.0]
    for _ in range(most):
        j = int(variance.argmax())
        gains.append(gains[-1] + 0.5 * math.log1p(variance[j] / NOISE))
        explained = sum((column * column[j] for column in columns), np.zeros(len(K)))
        columns.append((K[:, j] - explained) / math.sqrt(variance[j] + NOISE))
        variance = np.maximum(variance - columns[-1] ** 2, 0.0)
    return tuple(gains)


def theorem_4(b1: int, b2: int, rate: float) -> float:
    """B2 + √(C1·β_T·T²/B1·γ̃), with γ̃ by Lemma 5."""
    beta = 2 * math.log(len(GRID) * ROUNDS**2 * math.pi**2 / (6 * DELTA))
    gains = information_gains()
    gain = min((b1 / n + 1) * (gains[n] + ROUNDS / b1 * n**3 * rate) for n in range(1, b1 + 1))
    return b2 + math.sqrt(8 / math.log(1 + 1 / NOISE) * beta * ROUNDS**2 / b1 * gain)


def corollary_6(b1: int, b2: int, rate: float, nu: float = 1.5) -> float:
    """Its order for a Matérn kernel with the hidden constants set to 1; it asks for ν ≥ 2, the kernel here has 1.5."""
    c, eta = 2 / (2 * nu + 2), ROUNDS / b1
    return b2 + max(math.sqrt(ROUNDS ** (1 + c) * eta ** (1 - c)), ROUNDS * (eta * rate) ** (0.5 * (1 - c) / (3 - c)))


def contenders(rate: float) -> Contenders:
    return {f"B1={b1}, B2={b2}": (known(rate), online.Mixed(b1, b2, KAPPA)) for b1, b2 in QUOTAS}


def table(options: Options) -> list[Row]:
    """Two quotas (κ = .9): regret, looks and L_T, next to the bounds of Theorem 4 and Corollary 6"""
    rows = []
    for rate, name, found in on_the_same_paths(contenders, RATES[-1:] if options.quick else RATES, options.seeds):
        b1, b2 = (int(part.split("=")[1]) for part in name.split(", "))
        total, looks = found[:, 0] * ROUNDS, found[:, 1]
        what = f"{name}, ε={rate}"
        rows += [
            row(f"{what}: regret", found[:, 0].tolist()),
            row(f"{what}: looks", looks.tolist()),
            row(f"{what}: L_T", (total + looks).tolist()),
            Row(f"{what}: Theorem 4", theorem_4(b1, b2, rate)),
            Row(f"{what}: Corollary 6", corollary_6(b1, b2, rate)),
        ]
    return rows


ARMS = (2, 3, 5)


def sure_rounds(arms: int, rate: float, seed: int) -> tuple[int, int]:
    """Count the rounds in which no confidence interval overlaps that of the chosen arm, and those where it is not best.

    β_t is that of Theorem 4. As the LCB–UCB rule has it, such a round is not looked at, and every other round is.
    """
    places = np.linspace(0.0, 1.0, arms)[:, None]
    covariance = Kernel("matern32", 0.2)(places, places)
    root, draws = np.linalg.cholesky(covariance), generator(seed, arms, "path")
    f, model = root @ draws.standard_normal(arms), ArmFilter(covariance, rate, NOISE)
    sure = wrong = 0
    for t in range(1, ROUNDS + 1):
        mean, variance = model.predict(t)
        half = np.sqrt(2 * math.log(arms * t * t * math.pi**2 / (6 * DELTA)) * variance)
        chosen = int((mean + half).argmax())
        if np.delete(mean + half, chosen).max() <= mean[chosen] - half[chosen]:
            sure, wrong = sure + 1, wrong + bool(f[chosen] < f.max())
        else:
            model.observe(chosen, t, f[chosen] + math.sqrt(NOISE) * draws.standard_normal())
        f = math.sqrt(1 - rate) * f + math.sqrt(rate) * (root @ draws.standard_normal(arms))
    return sure, wrong


def lcb_ucb(options: Options) -> list[Row]:
    """Lemma 8 (2021: Lemma 1): where no interval overlaps that of the chosen arm, the arm is the best one, δ = .1"""
    rows = []
    for arms in ARMS:
        for rate in RATES:
            found = np.array([sure_rounds(arms, rate, seed) for seed in range(options.seeds)])
            rows.append(row(f"{arms} arms, ε={rate}: rounds without overlap", found[:, 0].tolist()))
            rows.append(row(f"{arms} arms, ε={rate}: paths with a wrong one", (found[:, 1] > 0).astype(float).tolist()))
    return rows
