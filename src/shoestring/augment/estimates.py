"""The mean reward of every policy, estimated from few plays: its sample mean, or a hierarchical shrinkage estimate.

======= ================================================================ ==========
symbol  meaning                                                          shape
======= ================================================================ ==========
y_k     mean reward of a policy, n_k plays                               (22500,)
m       mean of all rewards                                              scalar
a, b    effects of the first and of the second operation                 (15,), (15,)
g_j     effect of a pair beyond its operations                           (225,)
d_k     effect of a policy beyond its pair                               (22500,)
σ²      variance of one reward of one policy                             scalar
τ²      variances of the effects: operations, pairs, policies            scalars
======= ================================================================ ==========

``"mean"`` is y_k, the estimate of Lu's thesis. ``"shrunk"`` is the empirical Bayes estimate of
y_k = m + a + b + g + d + noise: each level keeps the share τ²/(τ² + σ²/n) of what it adds to the level above, with
the variances estimated from the same rewards by the method of moments. With thousands of arms and about one play each,
a sample mean is mostly noise, while a pair has dozens of plays and an operation hundreds.

The magnitude levels are deliberately not modelled. The reward of a single step favours weak magnitudes, and a model of
the levels would rank policies close to the identity first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.augment.policies import OPERATIONS, PAIRS, PER_PAIR, sum_by_pair
from shoestring.errors import MethodError

Estimate = Literal["shrunk", "mean"]

C = 1.0  # exploration coefficient, the thesis's value: rewards are scaled to [0, 1], so there is nothing to tune
NEUTRAL = 0.5  # the reward of a policy about which nothing is known
_OPERATIONS = len(OPERATIONS)


@dataclass(frozen=True)
class Estimates:
    """Estimated rewards and upper confidence bounds of the policies (22500,) and of the pairs (225,)."""

    policies: Array
    pairs: Array
    policy_ucbs: Array
    pair_ucbs: Array
    pair_counts: Codes


def check_choice(option: str, value: str, choices: Any) -> None:
    """Refuse a value of an option that its ``Literal`` type does not name."""
    if value not in get_args(choices):
        raise MethodError(f"{option}={value!r} is not known; there are {', '.join(map(repr, get_args(choices)))}")


def estimate_rewards(counts: Codes, totals: Array, squares: Array, kind: Estimate) -> Estimates:
    """Estimates from plays, sums of rewards and sums of squared rewards, each (22500,)."""
    check_choice("estimate", kind, Estimate)
    pair_counts, pair_totals = sum_by_pair(counts), sum_by_pair(totals)
    policies, pairs = mean_rewards(counts, totals), mean_rewards(pair_counts, pair_totals)
    if kind == "shrunk" and counts.any():
        policies, pairs = _shrink(counts, totals, squares, pair_counts, pair_totals)
    widths, pair_widths = (confidence_width(int(counts.sum()), n) for n in (counts, pair_counts))
    return Estimates(policies, pairs, policies + widths, pairs + pair_widths, pair_counts)


def confidence_width(plays: int, counts: Codes) -> Array:
    """The width C·√(2·ln n / n_k) of Eqs. 3.2 and 3.6 of the thesis, with n_k at least 1."""
    return np.asarray(C * np.sqrt(2.0 * math.log(max(plays, 1)) / np.maximum(counts, 1)))


def mean_rewards(counts: Codes, totals: Array) -> Array:
    """Compute sample means; ½ without a play."""
    return np.where(counts > 0, totals / np.maximum(counts, 1), NEUTRAL)


def _shrink(
    counts: Codes, totals: Array, squares: Array, pair_counts: Codes, pair_totals: Array
) -> tuple[Array, Array]:
    """The empirical Bayes estimates of the policies and of the pairs."""
    noise, policy_variance = _variances(counts, totals, squares)
    spread = noise + policy_variance  # within a pair, a reward varies by noise and by the policy that was drawn
    prior = _operation_effects(pair_counts, pair_totals, spread)
    residual = mean_rewards(pair_counts, pair_totals) - prior
    pairs = prior + _shrinkage(_effect_variance(residual, pair_counts, spread), spread, pair_counts) * residual
    pair_of_policy = np.repeat(pairs, PER_PAIR)
    residual = mean_rewards(counts, totals) - pair_of_policy
    return pair_of_policy + _shrinkage(policy_variance, noise, counts) * residual, pairs


def _shrinkage(variance: float, noise: float, counts: Codes) -> Array:
    """The share τ²/(τ² + σ²/n) of a deviation that is kept; 0 without plays."""
    total = variance * counts + noise
    return np.where(counts > 0, variance * counts / (total if noise > 0 else np.maximum(total, 1e-300)), 0.0)


def _variances(counts: Codes, totals: Array, squares: Array) -> tuple[float, float]:
    """σ² within policies and τ² of policies within pairs, by a nested analysis of variance (method of moments)."""
    n, played = int(counts.sum()), np.count_nonzero(counts)
    pair_counts = sum_by_pair(counts)
    pair_totals = np.bincount(np.repeat(np.arange(PAIRS), PER_PAIR), weights=totals, minlength=PAIRS)
    policy_squares = (totals**2 / np.maximum(counts, 1)).sum()
    pair_squares = (pair_totals**2 / np.maximum(pair_counts, 1)).sum()
    pairs = np.count_nonzero(pair_counts)
    # E[policy_squares − pair_squares] = σ²·(played − pairs) + τ²·(n − Σ_j Σ_k n_k² / n_j)
    exposure = float(n - (sum_by_pair(counts.astype(float) ** 2) / np.maximum(pair_counts, 1)).sum())
    if n - played < 30 or exposure <= 0:  # hardly any policy was played twice: attribute all variation to noise
        return float((squares.sum() - pair_squares) / max(n - pairs, 1)), 0.0
    noise = float(squares.sum() - policy_squares) / (n - played)
    return noise, max((float(policy_squares - pair_squares) - noise * (played - pairs)) / exposure, 0.0)


def _operation_effects(pair_counts: Codes, pair_totals: Array, spread: float) -> Array:
    """m + a + b for each pair (225,): least squares over the plays, with a ridge on the 30 effects a and b.

    The ridge solution is the posterior mean of the effects. Its strength σ²/τ² is found by a few EM steps.
    """
    weights = pair_counts.reshape(_OPERATIONS, _OPERATIONS).astype(float)
    n = max(float(weights.sum()), 1.0)
    m = float(pair_totals.sum()) / n
    centred = pair_totals.reshape(_OPERATIONS, _OPERATIONS) - m * weights
    target = np.concatenate([centred.sum(axis=1), centred.sum(axis=0)])
    gram = np.block([[np.diag(weights.sum(axis=1)), weights], [weights.T, np.diag(weights.sum(axis=0))]])
    effects, variance = np.zeros(2 * _OPERATIONS), 0.05
    for _ in range(20):
        inverse = np.linalg.inv(gram + np.eye(len(gram)) * (spread + 1e-12) / max(variance, 1e-9))
        effects = inverse @ target
        variance = float(np.mean(effects**2 + (spread + 1e-12) * np.diag(inverse)))
    first, second = effects[:_OPERATIONS], effects[_OPERATIONS:]
    return np.asarray(m + (first[:, None] + second[None, :]).ravel())


def _effect_variance(residual: Array, counts: Codes, spread: float) -> float:
    """The variance of effects observed with noise: the variance of the residuals minus the variance of the noise, at
    least 0.
    """
    n = counts[counts > 0]
    return max(float(np.average(residual[counts > 0] ** 2 - spread / n, weights=n)), 0.0)
