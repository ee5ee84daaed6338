"""The forecasts at one decision: the end of every column, as scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.methods.curve_beliefs import CurveBelief
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.failures import FailureModel
from shoestring.methods.learning_curves import expected_improvement
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores, loss_of_score

# Configurations that are more likely to fail than this are neither promoted by rank nor finished.
MOST_RISK = 0.3


class Forecasts:
    """Per column, the ``mean`` of its end as a score, its ``risk`` of failing later, and the expected improvement.

    ``places`` (n,) and ``losses`` (n,) are the columns and the losses of the readings in the process.
    """

    def __init__(
        self, process: CurveProcess, places: Codes, losses: Array, columns: Columns, failures: FailureModel
    ) -> None:
        self._process, self._failures, self._losses = process, failures, losses
        self._scores = blended_scores(losses)
        self._w, self._scale = process.whiten(self._scores)
        self.mean = process.means(self._w)
        self.risk = failures.risk(columns.points, columns.step)
        self.best = float(self._scores[self._attainable(places, columns.failed[places])].min())

    @cached_property
    def improvement(self) -> Array:
        """Per column, the expected improvement; promotions by rank do without it."""
        deviation = self._process.deviations(self._scale)
        return expected_improvement(self.mean, deviation, self.best) * (1 - self.risk)

    @property
    def safe(self) -> Mask:
        """Per column, whether it is not likely to fail."""
        return self.risk <= MOST_RISK

    def _attainable(self, places: Codes, failed: Mask) -> Mask:
        """The readings to improve on: those of failed and of risky trials may be out of reach of all others."""
        attainable = ~failed & self.safe[places]
        return attainable if attainable.any() else np.ones(len(places), dtype=bool)

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and expected improvement of new configurations."""
        mean, deviation = self._process.forecast_points(self._w, self._scale, points)
        risk = self._failures.risk(points, np.zeros(len(points)))
        return mean, expected_improvement(mean, deviation, self.best) * (1 - risk)

    def curve(self, point: Array, steps: Sequence[int]) -> CurveBelief:
        """The forecast of one curve at these steps."""
        found = [self._process.forecast_points(self._w, self._scale, point[None], step) for step in steps]
        mean, deviation = (np.array([pair[i][0] for pair in found]) for i in (0, 1))
        known = self._scores[np.isfinite(self._losses)]
        return CurveBelief.of_normal(steps, mean, deviation, self.loss, (known.min(), known.max()))

    def loss(self, score: float) -> float:
        """The loss of a score, which reaches no further than the observed losses."""
        finite = np.isfinite(self._losses)
        return loss_of_score(score, self._losses[finite], self._scores[finite])
