"""BHPT: the best model that the budget can buy, by a belief over learning curves.

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, Algorithm 1. In every
turn the belief predicts what each arm could reach with all that is left, and one arm is trained by one
unit. Another budget makes other decisions.

======  =================================================================
r       steps that are left
μ_r^k   the lowest loss that arm k is expected to reach with them
ĉ       the arm with the lowest μ_r^k, begun or not
======  =================================================================

Rules:

* ``"q"``: the arm with the lowest Q_r (Eq. 8), that is the one most likely to change what is best; once ĉ
  needs all that is left, ĉ (the rule of budget exhaustion, Algorithm 1, line 6).
* ``"q-alone"``: the same without the rule of exhaustion, for comparison (Figure 5a).
* ``"q"`` with ``epsilon``: the others by Q with that probability, ĉ otherwise (Eq. 11). On recorded curves it is
  ahead of Q alone from 20 full trainings on, and behind up to 5.
* ``"kgm"``: beyond the paper. The arm for which looking some readings ahead is worth most per step, counting what
  these leave of the budget. It needs neither ε nor the rule of exhaustion.

Differs from the paper in that Q also compares with the best loss already in hand, and in that arms at
their last step leave: then ĉ may be finished while there is budget left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.methods.beliefs import Now, OnBelief
from shoestring.methods.learning_curves import counted

RULES = ("q", "q-alone", "kgm")


@dataclass(frozen=True)
class BHPT(OnBelief):
    """Train what may turn out best with the budget that is left; see :mod:`shoestring.methods.bhpt`.

    ``rule`` is "q", which has the lowest regret over all budgets on recorded curves, "q-alone" or "kgm";
    ``epsilon`` goes with the first two.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 10):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, method=ss.methods.BHPT())
    >>> study.spent["steps"], study.best.value < 0.2
    (60, True)
    """

    rule: str = "q"
    epsilon: float | None = None
    name: ClassVar[str] = "bhpt"
    reference: ClassVar[str] = "Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in RULES:
            raise MethodError(f"rule is {self.rule!r}; it can be {', '.join(RULES)}")
        if self.epsilon is not None and (self.rule == "kgm" or not 0 <= self.epsilon <= 1):
            raise MethodError(f"epsilon is {self.epsilon!r}; it is a probability, and goes with rule='q'")

    def choose(self, now: Now, history: History, rng: np.random.Generator) -> Decision:
        if not history.arms:
            return now.at_random(rng)
        if self.rule == "kgm":
            return self._looking_ahead(now)
        return self._trying(now, rng)

    def _trying(self, now: Now, rng: np.random.Generator) -> Decision:
        from shoestring.models.action_values import exhausted, value_of_trying

        view = now.outlook
        top = int(view.loss.argmin())
        if self.rule != "q-alone" and exhausted(view):
            return now.trained(top, f"{_lead(now, top)}, and needs all that is left to get there")
        value = value_of_trying(view, now.in_hand)
        if self.epsilon is not None:
            if rng.random() >= self.epsilon or now.open.sum() == 1:
                return now.trained(top, _lead(now, top))
            value[top] = float("inf")
        return now.trained(*_explained(now, int(value.argmin()), top))

    def _looking_ahead(self, now: Now) -> Decision:
        from shoestring.models.action_values import gain_of_looking

        view = now.outlook
        top = int(view.loss.argmin())
        gain = gain_of_looking(view, now.in_hand)
        chosen = int(gain.argmax())
        if not gain[chosen] > 0:
            return now.trained(top, f"{_lead(now, top)}, and looking elsewhere is not worth its price")
        return now.trained(*_explained(now, chosen, top))


def _lead(now: Now, top: int) -> str:
    """Who is best, and who is next."""
    loss = now.outlook.loss.copy()
    text = f"{now.who(top)} should reach {now.in_words(loss[top])} with {counted(now.left)} left"
    loss[top] = float("inf")
    second = int(loss.argmin())
    if loss[second] < float("inf"):
        text += f" ({now.who(second)}: {now.in_words(loss[second])})"
    return text


def _explained(now: Now, chosen: int, top: int) -> tuple[int, str]:
    if chosen == top:
        return chosen, f"{_lead(now, top)}, and one more reading shows whether it will"
    expected = now.in_words(now.outlook.loss[chosen])
    return chosen, f"{now.who(chosen)}, of which {expected} is expected, may overtake: {_lead(now, top)}"
