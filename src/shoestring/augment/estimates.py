"""What an arm is worth, from few plays: its own mean, or a mean shrunk towards its pair and its operations.

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

``"mean"`` is the thesis's y_k. ``"shrunk"`` is the empirical Bayes estimate of y_k = m + a + b + g + d + noise: each
level keeps the share τ²/(τ² + σ²/n) of what it adds to the level above, with the variances estimated from the same
rewards by the method of moments. With thousands of arms and about one play each, a mean is nearly all noise, while a
pair has dozens of plays and an operation hundreds.

The levels of the operations are left out on purpose. The reward of a single step favours weak magnitudes,
and a model of the levels would rank near-identities first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoestring.augment.bandit import Array, Bandit, Integers, means
from shoestring.augment.policies import OPERATIONS, PAIRS, PER_PAIR
from shoestring.errors import MethodError

ESTIMATES = ("shrunk", "mean")
_OPERATIONS = len(OPERATIONS)


@dataclass(frozen=True)
class Estimates:
    """Estimated rewards of the policies (22500,) and of the pairs (225,)."""

    policies: Array
    pairs: Array


def estimated(bandit: Bandit, estimate: str) -> Estimates:
    """The estimates of one kind from what a bandit has seen."""
    return from_sums(bandit.counts, bandit.totals, bandit.squares, estimate)


def from_sums(counts: Integers, totals: Array, squares: Array, estimate: str) -> Estimates:
    """The same from the sums themselves."""
    if estimate not in ESTIMATES:
        raise MethodError(f"estimate={estimate!r} is not known; there are {', '.join(map(repr, ESTIMATES))}")
    pair_counts, pair_totals = (values.reshape(PAIRS, PER_PAIR).sum(axis=1) for values in (counts, totals))
    if estimate == "mean" or not counts.any():
        return Estimates(means(counts, totals), means(pair_counts, pair_totals))
    return _shrunk(counts, totals, squares, pair_counts, pair_totals)


def _shrunk(counts: Integers, totals: Array, squares: Array, pair_counts: Integers, pair_totals: Array) -> Estimates:
    pair_of = np.repeat(np.arange(PAIRS), PER_PAIR)
    noise, policy_variance = _components(counts, totals, squares, pair_of)
    # Seen from its pair, a reward varies by the noise and by the policy that was drawn.
    spread = noise + policy_variance
    prior = _operation_effects(pair_counts, pair_totals, spread)
    residual = means(pair_counts, pair_totals) - prior
    pair_variance = _effect_variance(residual, pair_counts, spread)
    pairs = prior + _kept(pair_variance, spread, pair_counts) * residual
    own = means(counts, totals) - pairs[pair_of]
    return Estimates(pairs[pair_of] + _kept(policy_variance, noise, counts) * own, pairs)


def _kept(variance: float, noise: float, counts: Integers) -> Array:
    """The share τ²/(τ² + σ²/n) of a deviation that is believed; nothing without plays."""
    total = variance * counts + noise
    return np.where(counts > 0, variance * counts / (total if noise > 0 else np.maximum(total, 1e-300)), 0.0)


def _components(counts: Integers, totals: Array, squares: Array, pair_of: Integers) -> tuple[float, float]:
    """σ² within policies and τ² of policies within pairs, by a nested analysis of variance (method of moments)."""
    pair_counts = np.bincount(pair_of, weights=counts, minlength=PAIRS)
    pair_totals = np.bincount(pair_of, weights=totals, minlength=PAIRS)
    within_policies = float(squares.sum() - (totals**2 / np.maximum(counts, 1)).sum())
    freedom = int(counts.sum() - np.count_nonzero(counts))
    within_pairs = float(
        (totals**2 / np.maximum(counts, 1)).sum() - (pair_totals**2 / np.maximum(pair_counts, 1)).sum()
    )
    played, pairs = np.count_nonzero(counts), np.count_nonzero(pair_counts)
    # E[within_pairs] = σ²·(played − pairs) + τ²·(n − Σ_j Σ_k n_k² / n_j)
    sizes = np.bincount(pair_of, weights=counts.astype(float) ** 2, minlength=PAIRS) / np.maximum(pair_counts, 1)
    exposure = float(counts.sum() - sizes.sum())
    if freedom < 30 or exposure <= 0:  # hardly a policy was played twice: all that varies within a pair is noise
        everything = squares.sum() - (pair_totals**2 / np.maximum(pair_counts, 1)).sum()
        return float(everything / max(counts.sum() - pairs, 1)), 0.0
    noise = within_policies / freedom
    return noise, max((within_pairs - noise * (played - pairs)) / exposure, 0.0)


def _operation_effects(pair_counts: Integers, pair_totals: Array, spread: float) -> Array:
    """m + a + b for each pair (225,): least squares over the plays, each effect shrunk by its own variance.

    A ridge on the 30 effects is their posterior mean; its strength σ²/τ² is iterated a few times from the effects it
    gives.
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
        # the EM step of the effects' variance: what they are, and how uncertain that is
        variance = float(np.mean(effects**2 + (spread + 1e-12) * np.diag(inverse)))
    first, second = effects[:_OPERATIONS], effects[_OPERATIONS:]
    return np.asarray(m + (first[:, None] + second[None, :]).ravel())


def _effect_variance(residual: Array, counts: Integers, spread: float) -> float:
    """The variance of effects seen through noise: that of the residuals less what noise explains, never negative."""
    seen: NDArray[np.bool_] = counts > 0
    if not seen.any():
        return 0.0
    n = counts[seen]
    return max(float(np.average(residual[seen] ** 2 - spread / n, weights=n)), 0.0)
