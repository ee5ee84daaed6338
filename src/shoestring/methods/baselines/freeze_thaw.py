"""Freeze-thaw Bayesian optimisation: train the arm whose next reading says most about which arm is best.

Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014, section 4. A basket holds the begun and the new
arms with the most expected improvement of their asymptotes. For each, its next reading is imagined at a few
values, and the entropy of "which asymptote of the basket is lowest" that would be left is averaged.

It does not know the budget: that is what BHPT adds.

Differs from the paper in that the basket's joint asymptotes are drawn with the same numbers before and after
a reading, which takes most of the noise out of the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.methods.beliefs import Now, OnBelief
from shoestring.methods.learning_curves import expected_improvement

if TYPE_CHECKING:
    from shoestring.models.fantasies import Part

Array = NDArray[np.float64]

# Joint draws of the basket's asymptotes, and values at which a reading is imagined.
_DRAWS, _NODES = 200, 5


@dataclass(frozen=True)
class FreezeThaw(OnBelief):
    """Choose by what is learned of the best asymptote, from ``old`` begun and ``new`` new arms.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> method = ss.methods.FreezeThaw(learn=None)
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, method=method)
    >>> study.spent["steps"], study.best.value < 0.5
    (60, True)
    """

    old: int = 10
    new: int = 3
    name: ClassVar[str] = "freeze-thaw"
    counts: ClassVar[tuple[str, ...]] = (*OnBelief.counts, "old", "new")
    reference: ClassVar[str] = "Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014"

    def choose(self, now: Now, history: History, rng: np.random.Generator) -> Decision:

        from shoestring.models.fantasies import part_of

        if not history.arms:
            return now.at_random(rng)
        belief = now.belief.beliefs[0]
        mean, deviation = belief.asymptotes(now.values), np.sqrt(np.diag(belief.C))
        best = min(now.in_hand, float(mean.max()))
        gain = np.where(now.open, expected_improvement(mean, deviation, best), -np.inf)
        begun = np.zeros(len(gain), dtype=bool)
        begun[list(now.arm_at)] = True
        basket = np.array([*_most(gain, now.open & begun, self.old), *_most(gain, now.open & ~begun, self.new)])
        draws = rng.standard_normal((_DRAWS, len(basket)))
        left = entropies(part_of(belief, now.values, basket), draws)
        chosen = int(basket[int(left.argmin())])
        reason = (
            f"{now.who(chosen)}, which should end at {now.in_words(float(mean[chosen]))}, tells most about which of "
            f"{len(basket)} arms is best"
        )
        return now.trained(chosen, reason)


def _most(gain: Array, among: NDArray[np.bool_], number: int) -> list[int]:
    arms = np.flatnonzero(among)
    return [int(arm) for arm in arms[np.argsort(-gain[arms], kind="stable")[:number]]]


def entropies(part: Part, draws: Array) -> Array:
    """Per arm, the entropy of the place of the lowest asymptote that its next reading would leave. Shape (n,).

    ``draws`` (m, n) are standard normal; the reading is imagined at Gauss–Hermite nodes.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    found = []
    for arm in range(len(part.mu)):
        shift = part.shift(arm)
        values, vectors = np.linalg.eigh(part.C - np.outer(shift, shift))
        around = part.mu + draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T @ vectors.T
        places = (around[None] + nodes[:, None, None] * shift).argmin(axis=2)
        found.append(sum(weight * _entropy(row, len(part.mu)) for weight, row in zip(weights, places, strict=True)))
    return np.array(found)


def _entropy(places: NDArray[np.int64], arms: int) -> float:
    share = np.bincount(places, minlength=arms) / len(places)
    return float(-(share[share > 0] * np.log(share[share > 0])).sum())
