"""Rollout: Bayesian optimisation with a finite budget, looked a few steps ahead.

Lam, Willcox and Wolpert, Bayesian optimization with a finite budget, NeurIPS 2016; as a baseline in Lu, Chiang and
Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, appendix C. The worth of a reading of an arm is
its expected improvement on the best loss ζ, and that of the readings after it, if from then on the arm with the
most expected improvement is read (Eq. 16, 17). Readings are imagined at Gauss–Hermite nodes.

It looks no further than ``ahead`` readings, so it does not see what an arm will be worth in the end.

Differs from the paper in that only the arms with the most expected improvement are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.methods.beliefs import Now, OnBelief
from shoestring.methods.learning_curves import expected_improvement

if TYPE_CHECKING:
    from shoestring.models.fantasies import Part

_NODES = 3


@dataclass(frozen=True)
class Rollout(OnBelief):
    """Choose by expected improvement over the next ``ahead`` readings, among ``candidates`` arms.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> method = ss.methods.Rollout(learn=None)
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="40 steps", max_resource=9, method=method)
    >>> study.spent["steps"], study.best.value < 0.4
    (40, True)
    """

    ahead: int = 3
    candidates: int = 10
    name: ClassVar[str] = "rollout"
    counts: ClassVar[tuple[str, ...]] = (*OnBelief.counts, "ahead", "candidates")
    reference: ClassVar[str] = (
        "Lam, Willcox and Wolpert, Bayesian optimization with a finite budget: an approximate dynamic programming "
        "approach, NeurIPS 2016"
    )

    def choose(self, now: Now, history: History, rng: np.random.Generator) -> Decision:

        from shoestring.models.fantasies import part_of

        if not history.arms:
            return now.at_random(rng)
        arms = np.flatnonzero(now.open)
        places = now.belief.counts[arms] + 1
        mean = now.means[arms, places - 1]
        best = min(now.in_hand, float(mean.max()))
        gain = expected_improvement(mean, np.sqrt(now.belief.variances(arms, places)), best)
        basket = arms[np.argsort(-gain, kind="stable")[: self.candidates]]
        part = part_of(now.belief.beliefs[0], now.values, basket)
        # What is left of the budget may be less than one looks ahead.
        units = now.left / float(now.steps[0])
        turns = int(min(self.ahead, max(1.0, units)))
        worth = [reward(part, arm, best, turns) for arm in range(len(basket))]
        chosen = int(basket[int(np.argmax(worth))])
        reason = (
            f"{now.who(chosen)} promises the most improvement on {now.in_words(best)} over the next {turns} readings"
        )
        return now.trained(chosen, reason)


@lru_cache
def _quadrature() -> tuple[tuple[float, float], ...]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return tuple(zip(nodes.tolist(), (weights / weights.sum()).tolist(), strict=True))


def reward(part: Part, arm: int, best: float, turns: int) -> float:
    """H: the improvement on ``best`` that so many readings bring, the first of this arm (Eq. 16 and 17)."""
    means, variances = part.next_readings()
    mean, deviation = float(means[arm]), math.sqrt(float(variances[arm]))
    if not math.isfinite(mean):
        return 0.0
    if turns == 1:
        return float(expected_improvement(means[arm : arm + 1], variances[arm : arm + 1] ** 0.5, best)[0])
    total = 0.0
    for node, weight in _quadrature():
        reading = mean + deviation * node
        after = part.after(arm, reading)
        found = min(best, reading)
        total += weight * (best - found + reward(after, _greedy(after, found), found, turns - 1))
    return total


def _greedy(part: Part, best: float) -> int:
    """The base policy: the arm whose next reading promises the most improvement."""
    means, variances = part.next_readings()
    gain = expected_improvement(np.where(np.isfinite(means), means, best), np.sqrt(variances), best)
    return int(np.where(np.isfinite(means), gain, -1.0).argmax())
