"""How likely a configuration is to fail later, for ``forecast``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import History
from shoestring.models.linear import logistic_regression, probability
from shoestring.samplers.candidates import embedding

if TYPE_CHECKING:
    from shoestring.methods.forecast_state import ForecastState

# The penalty of the regression of failures, and the least weight of a trial that has not failed yet.
_RIDGE, _LEAST_WEIGHT = 0.1, 0.1


class Failures:
    """How likely a configuration is to fail at a later step: a logistic regression, once something has failed.

    A failed configuration has weight 1, a living one the share of the observed failures that it has outlived.
    """

    def __init__(self, history: History) -> None:
        self._embed = embedding(history)
        self.steps: list[int] = []
        self.living: dict[int, bool] = {}

    def model(self, state: ForecastState) -> Array | None:
        """The coefficients of the regression; None while nothing has failed."""
        if not self.steps:
            return None
        columns = np.array(sorted(self.living))
        alive = np.array([self.living[column] for column in columns])
        outlived = 1 - self.ahead(state.step[columns])
        weights = np.where(alive, np.maximum(outlived, _LEAST_WEIGHT), 1.0)
        return logistic_regression(self._embed(state.points[columns]), 1.0 - alive, weights, _RIDGE)

    def so_far(self) -> str:
        """How many trials have failed and where, for people; empty if none has."""
        if not self.steps:
            return ""
        first, last = min(self.steps), max(self.steps)
        where = f"in step {first}" if first == last else f"in steps {first} to {last}"
        return f" ({len(self.steps)} of {len(self.living)} trials failed, {where})"

    def ahead(self, step: Any) -> Array:
        """The share of the observed failures that came after a step."""
        return np.asarray(1 - np.searchsorted(np.sort(self.steps), step, side="right") / len(self.steps))

    def risk(self, model: Array | None, points: Array, step: Any) -> Array:
        """The probability that a configuration at a step will fail later. Shape (m,)."""
        if model is None:
            return np.zeros(len(points))
        return np.asarray(probability(model, self._embed(points)) * self.ahead(step))
