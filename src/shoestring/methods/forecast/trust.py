"""From which milestone on the order of configurations can be trusted: the study itself shows it.

On many curves the order after one step says nearly all about later ones; on others it says nothing, and that after two
steps does. The first configurations show which: half of them are trained to a ninth of a full training.

======== =========================================================================
g        the goal: the largest milestone up to T/9, but 3 at least
n        the configurations that have reached g
ρ(s)     Spearman's rank correlation of their best losses so far after s steps with those after g
======== =========================================================================

The first milestone s with ρ(s) of at least one half is where new configurations pause first, and where promotions by
rank begin; readings before it are not used. While n is small, ρ is drawn towards what recorded curves show, as if that
had been seen in six more configurations: early steps are believed until they are seen to mislead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import Decision, Start
from shoestring.core.history import Cursor, History
from shoestring.methods.forecast.milestones import milestones
from shoestring.methods.learning_curves import format_steps

LEAST_CORRELATION = 0.5
# What recorded curves show of ρ after this many steps (later ones: the last number), and how many configurations that
# counts as.
_RECORDED, _RECORDED_ARMS = (0.80, 0.88, 0.94, 0.97), 6


class Trusted(NamedTuple):
    """The first milestone that is trusted, and why not an earlier one, in words; empty if there is none."""

    step: int = 1
    why: str = ""

    def explained(self, decision: Decision) -> Decision:
        """With the reason why a new configuration is first trained further than one step."""
        if not self.why or not isinstance(decision, Start):
            return decision
        return replace(decision, reason=f"{decision.reason}; after {format_steps(self.step)}: {self.why}")


class EarlyOrders:
    """The best losses so far of a study up to the goal, by arm and step, and from which step on their order holds."""

    def __init__(self, last: int) -> None:
        self._goal = max((m for m in milestones(last) if m <= max(3, last / 9)), default=1)
        self._early = [m for m in milestones(last) if m < self._goal < last]
        self._curves: dict[int, dict[int, float]] = {}
        self._lowest: dict[int, float] = {}
        self._new_readings = Cursor()
        self._trusted: Trusted | None = None

    def update(self, history: History) -> None:
        for trial, step, loss in self._new_readings.new(history.readings):
            if step <= self._goal and not trial.replicate:
                lowest = self._lowest[trial.arm] = min(loss, self._lowest.get(trial.arm, math.inf))
                self._curves.setdefault(trial.arm, {})[step] = lowest
                self._trusted = None

    @property
    def trusted(self) -> Trusted:
        if self._trusted is None:
            self._trusted = self._first_trusted()
        return self._trusted

    def _first_trusted(self) -> Trusted:
        why = ""
        for place, step in enumerate(self._early):
            pairs = [(c[step], c[self._goal]) for c in self._curves.values() if step in c and self._goal in c]
            n, found = len(pairs), rank_correlation(pairs)
            recorded = _RECORDED[min(place, len(_RECORDED) - 1)]
            if n * found + _RECORDED_ARMS * recorded >= LEAST_CORRELATION * (n + _RECORDED_ARMS):
                return Trusted(step, why)
            why = (
                f"the order after step {step} has not predicted that after step {self._goal} "
                f"(rank correlation {found:.2g} over {n} configurations)"
            )
        return Trusted(self._goal if self._early else 1, why)


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's coefficient, with the mean of the ranks for ties; 0 where one side is constant.

    >>> from shoestring.methods.forecast.trust import rank_correlation
    >>> rank_correlation([(1.0, 10.0), (2.0, 30.0), (3.0, 20.0)])
    0.5
    """
    if len(pairs) < 2:
        return 0.0
    first, second = (_centred_ranks(np.array(side)) for side in zip(*pairs, strict=True))
    scale = math.sqrt(first @ first * (second @ second))
    return round(float(first @ second) / scale, 12) if scale else 0.0


def _centred_ranks(values: Array) -> Array:
    """The mean of how many are lower and how many are not higher, less its mean."""
    ordered = np.sort(values)
    ranks = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(ranks / 2 - len(values) / 2)
