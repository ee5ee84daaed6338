"""The probability that a configuration fails at a later step: a logistic regression, once something has failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.models.embedding import Embedding
from shoestring.models.linear import logistic_regression, probability

# The penalty of the regression of failures, and the least weight of a trial that has not failed yet.
_RIDGE, _LEAST_WEIGHT = 0.1, 0.1


@dataclass(frozen=True)
class FailureModel:
    """The coefficients of the regression, None while nothing has failed, and the steps at which trials failed."""

    beta: Array | None
    steps: Sequence[int]
    embed: Embedding

    def risk(self, points: Array, step: Any) -> Array:
        """The probability that a configuration at a step will fail later. Shape (m,)."""
        if self.beta is None:
            return np.zeros(len(points))
        return np.asarray(probability(self.beta, self.embed(points)) * _ahead(self.steps, step))


def failure_model(points: Array, step: Codes, failed: Mask, steps: Sequence[int], embed: Embedding) -> FailureModel:
    """Fit the regression to the started configurations; ``steps`` are those at which trials failed.

    A failed configuration has weight 1, a living one the share of the observed failures that it has outlived.
    """
    if not steps:
        return FailureModel(None, steps, embed)
    outlived = 1 - _ahead(steps, step)
    weights = np.where(failed, 1.0, np.maximum(outlived, _LEAST_WEIGHT))
    return FailureModel(logistic_regression(embed(points), failed.astype(float), weights, _RIDGE), steps, embed)


def failures_in_words(steps: Sequence[int], trials: int) -> str:
    """Return how many trials have failed and where, for people; empty if none has."""
    if not steps:
        return ""
    first, last = min(steps), max(steps)
    where = f"in step {first}" if first == last else f"in steps {first} to {last}"
    return f" ({len(steps)} of {trials} trials failed, {where})"


def _ahead(steps: Sequence[int], step: Any) -> Array:
    """The share of the observed failures that came after a step."""
    return np.asarray(1 - np.searchsorted(np.sort(steps), step, side="right") / len(steps))
