"""Theorem 1 and Corollary 2: does the regret of sub-sampling grow like the Lai–Robbins constant times log N?

Every evaluation has the same budget, as the theorem assumes. Arms answer with N(μ_k, σ_k). The bound on R_N / log N is
Σ_k (μ_k − μ_*) / I_k with I_k = (μ_k − μ_*)² / (2 σ_*²): the Kullback–Leibler divergence if all σ are equal
(Corollary 2), and the rate function of the best arm if not (Theorem 1).
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from shoestring.core.randomness import generator
from shoestring.schedulers.evaluations import Record
from shoestring.schedulers.sub_sampling import with_potential

LENGTHS = (100, 300, 1000, 3000, 10_000)
# Means and deviations of the arms; the first is the best.
BANDITS = {
    "two arms, gap 1": ((0.0, 1.0), (1.0, 1.0)),
    "three arms, gaps .5 and 1": ((0.0, 0.5, 1.0), (1.0, 1.0, 1.0)),
    "other variances": ((0.0, 0.5, 1.0), (1.0, 0.5, 2.0)),
}


def constant(means: tuple[float, ...], deviations: tuple[float, ...]) -> float:
    """Compute the bound of R_N / log N."""
    return sum(2 * deviations[0] ** 2 / (mean - means[0]) for mean in means[1:])


def regrets(
    means: tuple[float, ...], deviations: tuple[float, ...], seed: int, lengths: tuple[int, ...]
) -> list[float]:
    """R_N = Σ (μ_k − μ_*) n_k of one run of Algorithm 4, once N evaluations are done."""
    rng = generator(seed, 0, "rate")
    order = rng.permutation(len(means))  # which arm has which mean: ties are broken by position
    draws = [np.array(means)[k] + np.array(deviations)[k] * rng.standard_normal(lengths[-1] + 1) for k in order]
    records, done, total, found = [Record() for _ in means], 0, 0.0, []
    chosen = list(range(len(means)))
    while len(found) < len(lengths):
        for arm in chosen:
            records[arm].take(float(draws[arm][records[arm].count]), 1)
            done, total = done + 1, total + means[order[arm]] - means[0]
            if len(found) < len(lengths) and done == lengths[len(found)]:
                found.append(total)
        chosen = with_potential(records)
    return found


def table(options: Options) -> list[Row]:
    """R_N / log N of sub-sampling over the Lai–Robbins constant, and the slope of R_N in log N over it."""
    lengths = LENGTHS[:3] if options.quick else LENGTHS
    rows = []
    for name, (means, deviations) in BANDITS.items():
        runs = [
            regrets(means, deviations, seed, lengths) for seed in range(options.seeds or (3 if options.quick else 40))
        ]
        found, bound = np.array(runs), constant(means, deviations)
        rows.append(Row(f"{name}: constant", bound))
        for column, n in enumerate(lengths):
            shares = found[:, column] / math.log(n) / bound
            rows.append(row(f"{name}, N={n}: R/log N over the constant", shares.tolist()))
        rise = (found[:, -1] - found[:, 0]) / math.log(lengths[-1] / lengths[0]) / bound
        rows.append(row(f"{name}: slope over the constant", rise.tolist()))
    return rows
