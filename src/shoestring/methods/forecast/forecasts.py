"""The forecasts at one decision: the end of every column, as scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.methods.curve_beliefs import CurveBelief
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.failures import FailureModel
from shoestring.methods.forecast.feasible import EndFeasibility
from shoestring.methods.learning_curves import expected_improvement
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores, loss_of_score

# Configurations that are more likely to fail than this are neither promoted by rank nor finished.
MOST_RISK = 0.3


class Forecasts:
    """Per column, the ``mean`` of its end as a score, its ``risk`` of failing later, and the expected improvement.

    ``places`` (n,) and ``losses`` (n,) are the columns and the losses of the readings in the process. With
    ``feasibility`` the improvement is on the ``best`` feasible loss, infinite if there is none, and it is multiplied by
    the probability of being feasible; without such a loss it is the probability alone.
    """

    def __init__(
        self,
        process: CurveProcess,
        places: Codes,
        losses: Array,
        columns: Columns,
        failures: FailureModel,
        feasibility: EndFeasibility | None = None,
    ) -> None:
        self._process, self._failures, self._losses = process, failures, losses
        self.feasibility = feasibility
        self._scores = blended_scores(losses)
        self._w, self._scale = process.whiten(self._scores)
        self.mean = process.means(self._w)
        self.risk = failures.risk(columns.points, columns.step)
        if feasibility is None:
            self.best = float(self._scores[self._attainable(places, columns.failed[places])].min())
        elif not len(feasibility.incumbents):
            self.best = math.inf
        else:
            known = self._attainable(feasibility.incumbents, columns.failed[feasibility.incumbents])
            self.best = self._score(float(feasibility.losses[known].min()))

    @cached_property
    def improvement(self) -> Array:
        """Per column, the expected improvement; promotions by rank do without it."""
        gained = self._gained(self.mean, self._process.deviations(self._scale)) * (1 - self.risk)
        return gained if self.feasibility is None else gained * self.feasibility.probability

    @property
    def goal(self) -> str:
        """Say in words what the improvement is."""
        if self.feasibility is None:
            return "expected improvement"
        chance = f"probability of {self.feasibility.constraints_in_words}"
        return f"expected improvement times the {chance}" if self.best < math.inf else chance

    @property
    def safe(self) -> Mask:
        """Per column, whether it is not likely to fail, and has a chance to be feasible."""
        safe = np.asarray(self.risk <= MOST_RISK)
        return safe if self.feasibility is None else safe & self.feasibility.hopeful

    @property
    def order(self) -> Array:
        """Per column, what started ones are ordered by: their mean. Configurations that are more likely than not to
        violate a constraint come last, the most likely feasible first.
        """
        return self.mean if self.feasibility is None else self.feasibility.last(self.mean)

    def _attainable(self, places: Codes, failed: Mask) -> Mask:
        """The readings to improve on: those of failed and of risky trials may be out of reach of all others."""
        attainable = ~failed & (self.risk[places] <= MOST_RISK)
        return attainable if attainable.any() else np.ones(len(places), dtype=bool)

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and expected improvement of new configurations."""
        mean, deviation = self._process.forecast_points(self._w, self._scale, points)
        gained = self._gained(mean, deviation) * (1 - self._failures.risk(points, np.zeros(len(points))))
        return mean, gained if self.feasibility is None else gained * self.feasibility.at(points)

    def _gained(self, mean: Array, deviation: Array) -> Array:
        """The expected improvement on the best; 1 if nothing is feasible yet."""
        return expected_improvement(mean, deviation, self.best) if self.best < math.inf else np.ones(len(mean))

    def curve(self, point: Array, steps: Sequence[int]) -> CurveBelief:
        """The forecast of one curve at these steps."""
        found = [self._process.forecast_points(self._w, self._scale, point[None], step) for step in steps]
        mean, deviation = (np.array([pair[i][0] for pair in found]) for i in (0, 1))
        known = self._scores[np.isfinite(self._losses)]
        return CurveBelief.of_normal(steps, mean, deviation, self.loss, (known.min(), known.max()))

    def _score(self, loss: float) -> float:
        """The score of a loss, interpolated between those of the observed ones."""
        order = np.argsort(self._losses, kind="stable")
        return float(np.interp(loss, self._losses[order], self._scores[order]))

    def loss(self, score: float) -> float:
        """The loss of a score, which reaches no further than the observed losses."""
        finite = np.isfinite(self._losses)
        return loss_of_score(score, self._losses[finite], self._scores[finite])
