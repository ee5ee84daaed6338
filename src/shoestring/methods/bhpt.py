"""BHPT: the best model within a budget, by a belief over learning curves.

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, Algorithm 1. At every decision the
belief predicts what each arm could reach with the whole remaining budget, and one arm is trained by one unit. Another
budget leads to other decisions.

======  =================================================================
r       remaining steps of the budget
μ_r^k   the lowest loss that arm k is expected to reach with them
ĉ       the arm with the lowest μ_r^k, started or not
======  =================================================================

Rules:

* ``"q"``: the arm with the lowest Q_r (Eq. 8), which is the one most likely to change what is best; once ĉ needs the
  whole remaining budget, ĉ (the rule of budget exhaustion, Algorithm 1, line 6).
* ``"q-alone"``: the same without the rule of exhaustion, for comparison (Figure 5a).
* ``"q"`` with ``epsilon``: another arm by Q with that probability, ĉ otherwise (Eq. 11). On recorded curves it is
  ahead of Q alone from 20 full trainings on, and behind up to 5.
* ``"kgm"``: beyond the paper. The arm for which looking several readings ahead is worth most per step, charging them
  to the budget. It needs neither ε nor the rule of exhaustion.

Differs from the paper in that Q also compares with the best loss so far, unless ``incumbent=False`` (then it is
Equation 8 as printed), and in that arms at their last step are left out: then ĉ may be finished while there is budget
left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import Decision
from shoestring.errors import MethodError
from shoestring.methods.beliefs import BeliefBasedMethod, Posterior
from shoestring.methods.learning_curves import format_steps
from shoestring.models.action_values import lookahead_gains, q_values

Rule = Literal["q", "q-alone", "kgm"]

# Where slice sampling starts: nothing is shared between configurations, and curves have no common start.
INDEPENDENT: Mapping[str, Any] = {
    "form": "independent", "alpha": 1.5, "beta": 5.0, "decay": 1.0, "noise": 1e-2, "spread": 1.0, "own": 0.0,
    "mean": 0.0, "start": None,
}  # fmt: skip


@dataclass(frozen=True)
class BHPT(BeliefBasedMethod):
    """Train the arm that may turn out best with the remaining budget; see :mod:`shoestring.methods.bhpt`.

    ``rule`` is "q", which has the lowest regret over all budgets on recorded curves, "q-alone" or "kgm";
    ``epsilon`` goes with the first two, and so does ``incumbent``: with False, Q does not compare with the best loss so
    far, as Equation 8 does not.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, method=ss.methods.BHPT())
    >>> study.spent["steps"], study.best.value < 0.2
    (60, True)
    """

    rule: Rule = "q"
    epsilon: float | None = None
    incumbent: bool = True
    reference: ClassVar[str] = "Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019"

    @classmethod
    def paper(cls, epsilon: float | None = None) -> BHPT:
        """The paper's setting for real tasks (appendix E): Equation 8, independent configurations, slice sampling.

        Differs from the paper in what it leaves open: readings enter as normal scores of the best losses so far, so
        that any scale works; the parameters start from α = 1.5 and β = 5 (those of its synthetic curves) and
        variances of 1; they are sampled at 8, 16, 32, … readings and five samples are kept; a full training has at
        most 27 units; among new configurations, which are all alike to it, one is drawn.
        """
        return cls(learn="slice", parameters=INDEPENDENT, epsilon=epsilon, incumbent=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in get_args(Rule):
            raise MethodError(f"rule is {self.rule!r}; it can be {', '.join(get_args(Rule))}")
        if self.epsilon is not None and (self.rule == "kgm" or not 0 <= self.epsilon <= 1):
            raise MethodError(f"epsilon is {self.epsilon!r}; it must be a probability, and goes with rule='q'")
        if not isinstance(self.incumbent, bool) or (self.rule == "kgm" and not self.incumbent):
            raise MethodError(f"incumbent is {self.incumbent!r}; it is True or False, and False goes with rule='q'")

    def choose(self, posterior: Posterior, rng: np.random.Generator) -> Decision:
        top = posterior.lowest(posterior.outlook.loss, rng)
        if self.rule == "kgm":
            return self._by_lookahead(posterior, top)
        if self.rule == "q" and posterior.outlook.needs_whole_budget():
            return posterior.grant(top, f"{_lead(posterior, top)}, and needs all that is left of the budget")
        value = self.q(posterior)
        if self.epsilon is not None:
            if rng.random() >= self.epsilon or posterior.trainable.sum() == 1:
                return posterior.grant(top, _lead(posterior, top))
            value[top] = np.inf
        return _explore(posterior, posterior.lowest(value, rng), top)

    def q(self, posterior: Posterior) -> Array:
        """Q of every arm (Eq. 8), by default with the best loss so far among what it is compared with. (K,)."""
        return q_values(posterior.outlook, posterior.incumbent if self.incumbent else math.inf)

    def _by_lookahead(self, posterior: Posterior, top: int) -> Decision:
        gain = lookahead_gains(posterior.outlook, posterior.incumbent)
        chosen = int(gain.argmax())
        if not gain[chosen] > 0:
            return posterior.grant(top, f"{_lead(posterior, top)}, and exploring is not worth its cost")
        return _explore(posterior, chosen, top)


def _explore(posterior: Posterior, chosen: int, top: int) -> Decision:
    """Train an arm for what its next reading tells."""
    if chosen == top:
        return posterior.grant(top, f"{_lead(posterior, top)}, and one more reading will show whether it does")
    expected = posterior.in_users_units(posterior.outlook.loss[chosen])
    reason = f"{posterior.name(chosen)}, expected to reach {expected}, may overtake: {_lead(posterior, top)}"
    return posterior.grant(chosen, reason)


def _lead(posterior: Posterior, top: int) -> str:
    """The best arm and the second best."""
    loss = posterior.outlook.loss.copy()
    reach = posterior.in_users_units(loss[top])
    text = f"{posterior.name(top)} should reach {reach} with {format_steps(posterior.remaining)} left"
    loss[top] = np.inf
    second = int(loss.argmin())
    if loss[second] < np.inf:
        text += f" ({posterior.name(second)}: {posterior.in_users_units(loss[second])})"
    return text
