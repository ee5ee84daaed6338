"""Rollout: Bayesian optimisation with a finite budget, looking a few steps ahead.

Lam, Willcox and Wolpert, Bayesian optimization with a finite budget: an approximate dynamic programming approach,
NeurIPS 2016; as a baseline in Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019,
appendix C. The value of a reading of an arm is its expected improvement on the best loss ζ plus that of the readings
after it, if from then on the arm with the largest expected improvement is read (Eq. 16, 17). Readings are imagined at
Gauss–Hermite nodes.

It looks no further than a few readings ahead, so it does not see what an arm will be worth in the end.

Differs from the paper in that only the arms with the largest expected improvement are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.methods.beliefs import BeliefBasedMethod, Posterior
from shoestring.methods.learning_curves import expected_improvement
from shoestring.models.fantasies import Fantasy, gauss_hermite

# How many readings it looks ahead, how many arms are compared, and the number of Gauss–Hermite nodes.
_AHEAD, _CANDIDATES, _NODES = 3, 10, 3


@dataclass(frozen=True)
class Rollout(BeliefBasedMethod):
    """Choose by expected improvement over the next three readings.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> method = ss.methods.Rollout(learn=None)
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="40 steps", max_resource=9, method=method)
    >>> study.spent["steps"], study.best.value < 0.4
    (40, True)
    """

    reference: ClassVar[str] = (
        "Lam, Willcox and Wolpert, Bayesian optimization with a finite budget: an approximate dynamic programming "
        "approach, NeurIPS 2016"
    )

    def choose(self, posterior: Posterior, rng: np.random.Generator) -> Decision:
        arms = np.flatnonzero(posterior.trainable)
        places = posterior.belief.counts[arms] + 1
        mean = posterior.means[arms, places - 1]
        best = min(posterior.incumbent, float(mean.max()))
        gain = expected_improvement(mean, np.sqrt(posterior.belief.variances(arms, places)), best)
        basket = arms[np.argsort(-gain, kind="stable")[:_CANDIDATES]]
        fantasy = Fantasy.of(posterior.belief.beliefs[0], posterior.values, basket)
        affordable = posterior.remaining / float(posterior.steps[0])
        readings = int(min(_AHEAD, max(1.0, affordable)))
        chosen = int(basket[int(np.argmax([reward(fantasy, arm, best, readings) for arm in range(len(basket))]))])
        reason = (
            f"{posterior.name(chosen)} has the largest expected improvement on {posterior.in_users_units(best)} "
            f"over the next {readings} readings"
        )
        return posterior.grant(chosen, reason)


def reward(fantasy: Fantasy, arm: int, best: float, readings: int) -> float:
    """Compute H: the expected improvement on ``best`` by this many readings, the first of this arm (Eq. 16 and 17)."""
    means, variances = fantasy.next_readings()
    mean, deviation = float(means[arm]), math.sqrt(float(variances[arm]))
    if not math.isfinite(mean):
        return 0.0
    if readings == 1:
        return float(expected_improvement(means[arm : arm + 1], variances[arm : arm + 1] ** 0.5, best)[0])
    total = 0.0
    for node, weight in gauss_hermite(_NODES):
        reading = mean + deviation * node
        after = fantasy.after(arm, reading)
        found = min(best, reading)
        total += weight * (best - found + reward(after, _greedy(after, found), found, readings - 1))
    return total


def _greedy(fantasy: Fantasy, best: float) -> int:
    """The base policy: the arm whose next reading has the largest expected improvement."""
    means, variances = fantasy.next_readings()
    gain = expected_improvement(np.where(np.isfinite(means), means, best), np.sqrt(variances), best)
    return int(np.where(np.isfinite(means), gain, -1.0).argmax())
