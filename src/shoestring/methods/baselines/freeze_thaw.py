"""Freeze-thaw Bayesian optimisation: train the arm whose next reading is most informative about the best arm.

Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, arXiv:1406.3896, 2014, section 4. A basket holds the
started and the new arms with the largest expected improvement of their asymptotes. For each, its next reading is
imagined at a few values, and the remaining entropy of "which asymptote of the basket is lowest" is averaged over them.

It does not know the budget: that is what BHPT adds.

Differs from the paper in that the basket's joint asymptotes are drawn with the same random numbers before and after
a reading, which removes most of the noise from the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Decision
from shoestring.methods.beliefs import BeliefBasedMethod, Posterior
from shoestring.methods.learning_curves import expected_improvement
from shoestring.models.fantasies import Fantasy, gauss_hermite

# Started and new arms in the basket.
_STARTED, _NEW = 10, 3
# Joint draws of the basket's asymptotes, and values at which a reading is imagined.
_DRAWS, _NODES = 200, 5


@dataclass(frozen=True)
class FreezeThaw(BeliefBasedMethod):
    """Choose by the information gained about which asymptote is lowest.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> method = ss.methods.FreezeThaw(learn=None)
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, method=method)
    >>> study.spent["steps"], study.best.value < 0.5
    (60, True)
    """

    reference: ClassVar[str] = "Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014"

    def choose(self, posterior: Posterior, rng: np.random.Generator) -> Decision:
        belief = posterior.belief.beliefs[0]
        mean, deviation = belief.asymptotes(posterior.values), np.sqrt(belief.spread(slice(None)))
        best = min(posterior.incumbent, float(mean.max()))
        order = np.argsort(-expected_improvement(mean, deviation, best), kind="stable")
        order = order[posterior.trainable[order]]
        started = np.isin(order, list(posterior.arm_at))
        basket = np.concatenate([order[started][:_STARTED], order[~started][:_NEW]])
        draws = rng.standard_normal((_DRAWS, len(basket)))
        left = entropies(Fantasy.of(belief, posterior.values, basket), draws)
        chosen = int(basket[int(left.argmin())])
        reason = (
            f"{posterior.name(chosen)}, which should end at {posterior.in_users_units(float(mean[chosen]))}, "
            f"is the most informative about which of {len(basket)} configurations is best"
        )
        return posterior.grant(chosen, reason)


def entropies(fantasy: Fantasy, draws: Array) -> Array:
    """Per arm, the expected entropy of the belief about the lowest asymptote, after the arm's next reading. Shape (n,).

    ``draws`` (m, n) are standard normal; the reading is imagined at Gauss–Hermite nodes.
    """
    arms = range(len(fantasy.mu))
    return np.array([expected_entropy(fantasy.mu, fantasy.C, fantasy.shift(arm), draws) for arm in arms])


def expected_entropy(mu: Array, C: Array, shift: Array, draws: Array) -> float:
    """The expected entropy of the place of the minimum of N(mu, C), after a reading that moves mu by shift."""
    nodes, weights = np.array(gauss_hermite(_NODES)).T
    values, vectors = np.linalg.eigh(C - np.outer(shift, shift))
    around = mu + draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T @ vectors.T
    lowest = (around[None] + nodes[:, None, None] * shift).argmin(axis=2)
    return float(sum(weight * _entropy(row, len(shift)) for weight, row in zip(weights, lowest, strict=True)))


def _entropy(lowest: Codes, arms: int) -> float:
    share = np.bincount(lowest, minlength=arms) / len(lowest)
    return float(-(share[share > 0] * np.log(share[share > 0])).sum())
