"""The forecasts of a method for learning curves, to be shown.

A method that forecasts curves can offer ``belief``; plots call it on the history of an earlier moment. It is optional,
and no decision reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shoestring._arrays import Array
from shoestring.core.history import History, TrialRecord

# The standard normal deviate of the quantile 0.9.
_DEVIATE = 1.2816


@dataclass(frozen=True)
class CurveBelief:
    """The loss of one trial at later steps: the quantiles 0.1, 0.5 and 0.9 at each.

    A method that sees ranks alone cannot say how much better than all readings a loss will be: then ``low`` is -inf,
    and ``high`` is inf for one that may be worse than all. Without steps the method knows nothing of the trial yet.
    """

    steps: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    median: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @classmethod
    def of_normal(
        cls,
        steps: Sequence[int],
        mean: Array,
        deviation: Array,
        loss_of: Callable[[float], float],
        known: tuple[float, float] = (-math.inf, math.inf),
    ) -> CurveBelief:
        """Of normal distributions of scores; ``loss_of`` is the loss of a score, cut to the ``known`` ones."""
        low, high = (mean + side * _DEVIATE * deviation for side in (-1, 1))
        return cls(
            tuple(map(int, steps)),
            tuple(-math.inf if score < known[0] else loss_of(float(score)) for score in low),
            tuple(loss_of(float(score)) for score in mean),
            tuple(math.inf if score > known[1] else loss_of(float(score)) for score in high),
        )


@runtime_checkable
class HasBelief(Protocol):
    """A method that forecasts learning curves."""

    def belief(self, history: History, trials: Sequence[TrialRecord]) -> list[CurveBelief]:
        """Forecast each of the trials, given the readings of the history."""
        ...
