"""Forecast which configurations fulfil the constraints of the study at their end.

A constraint is on a number, its *level*. An accuracy changes along a training as losses do: the process of the curves
forecasts its end. A latency does not change, so that one early reading is enough once the study has shown that. It
shows it by the changes between milestones: they say how far a level is expected to move until the end. Of the two
forecasts the one with the smaller deviation is used.

======== ========= ==============================================================================
symbol   shape     meaning
======== ========= ==============================================================================
x        (n, k)    the levels of all readings at milestones, as scores; small is good
b        (k,)      the bounds, as scores
Δx, Δl   (c,)      the changes of a level, and of the log step, from each milestone to the next
μ, σ²    ()        drift and variance of a level for a log step: Δx ~ N(μ Δl, σ² Δl)
======== ========= ==============================================================================

While there are few changes, σ² is drawn towards that of recorded learning curves.
"""

from __future__ import annotations

import math

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.goals import Constraint
from shoestring.core.history import History, TrialRecord
from shoestring.core.scores import tame
from shoestring.core.weighing import level
from shoestring.methods.forecast.columns import Columns
from shoestring.models.curve_process import CurveProcess
from shoestring.samplers.feasibility import Feasibility, Levels, bounds_of

# Once some reading is feasible, configurations that are less likely to be so than this are neither promoted by rank nor
# continued in the end game.
LEAST_PROBABILITY = 0.05
# What recorded curves show of σ², until there are this many changes.
_RECORDED, _ENOUGH = 0.1, 10


class ConstraintReadings:
    """The levels of all arms at milestones, in the order of the log, and by arm the best feasible loss so far."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        self.constraints = constraints
        self.lowest: dict[int, float] = {}
        self.levels: dict[tuple[int, int], list[float]] = {}  # by arm and milestone
        self._steps: list[int] = []
        self._before: list[int] = []  # the place of the arm's reading at the milestone before, -1 if there is none
        self._missed: dict[tuple[int, int], tuple[float, ...]] = {}
        self._largest = [0.0] * len(constraints)
        self._latest: dict[int, int] = {}
        self._scores: Array = np.zeros((0, len(constraints)))

    def add(self, trial: TrialRecord, step: int, loss: float, at_milestone: bool) -> None:
        arm = trial.arm
        if trial.is_feasible(step):
            self.lowest[arm] = min(loss, self.lowest.get(arm, loss))
        elif at_milestone:
            missed = self._missed[arm, step] = trial.violations[step]
            self._largest = list(map(max, self._largest, missed))
        if at_milestone:
            self._before.append(self._latest.get(arm, -1))
            self._latest[arm] = len(self._steps)
            self._steps.append(step)
            self.levels[arm, step] = [level(constraint, trial, step) for constraint in self.constraints]

    def misses(self, arm: int, step: int) -> bool:
        """Return whether the reading of an arm at a milestone violates a constraint."""
        return (arm, step) in self._missed

    def missed_by(self, arm: int, step: int) -> float:
        """By how much the reading of an arm at a milestone misses the constraints, as shares of the largest misses."""
        missed = self._missed.get((arm, step), ())
        return sum(each / largest for each, largest in zip(missed, self._largest, strict=False) if each)

    def persisting(self, last: int) -> tuple[list[int], Levels, Array]:
        """The arms with readings, their levels at the last step by the changes so far, as scores, with deviations."""
        scores, logs, before = self._scored(), np.log(self._steps), np.array(self._before)
        arms = list(self._latest)
        latest, later = np.array([self._latest[arm] for arm in arms]), np.flatnonzero(before >= 0)
        ahead, gaps = math.log(last) - logs[latest], logs[later] - logs[before[later]]
        means, deviations = (np.zeros((len(arms), len(self.constraints))) for _ in range(2))
        for j, own in enumerate(scores.T):
            drift, variance = _changes(own[later] - own[before[later]], gaps)
            means[:, j] = own[latest] + drift * ahead
            deviations[:, j] = np.sqrt(variance * ahead)
        return arms, Levels(means, scores[-1]), deviations

    def scores(self, places: list[tuple[int, int]]) -> Array:
        """The levels of readings at these arms and steps, as :meth:`persisting` scores them; 0 of failures. (n, k)."""
        known = {place: i for i, place in enumerate(self.levels)}
        scores = self._scored().copy()
        scores[-1] = 0.0  # the place of the bounds
        return np.asarray(scores[[known.get(place, -1) for place in places]])

    def _scored(self) -> Array:
        """The levels of all readings as scores, and last the bounds; kept until there is another one. (n + 1, k)."""
        if len(self._scores) != len(self.levels) + 1:
            levels = np.vstack([list(self.levels.values()), bounds_of(self.constraints)])
            self._scores = np.column_stack([tame(own) for own in levels.T])
        return self._scores


def _changes(changes: Array, gaps: Array) -> tuple[float, float]:
    """μ and σ²; 0 and 0 once levels are seen not to change."""
    drift = float(changes.sum() / gaps.sum()) if len(gaps) >= _ENOUGH else 0.0
    assumed = max(0.0, 1 - len(gaps) / _ENOUGH)
    return drift, float((_RECORDED * assumed + ((changes - drift * gaps) ** 2 / gaps).sum()) / (assumed + len(gaps)))


class EndFeasibility:
    """The probability that each column fulfils all constraints at its end, for one decision.

    ``process`` is that of the curves, and ``places`` are the arms and steps of its readings. ``started`` are the
    columns with readings, ``incumbents`` those with a feasible one, and ``losses`` the best of these.
    """

    def __init__(
        self,
        history: History,
        columns: Columns,
        readings: ConstraintReadings,
        process: CurveProcess,
        places: list[tuple[int, int]],
        last: int,
    ) -> None:
        self._history, self._points, self._process = history, columns.points, process
        self._constraints = readings.constraints
        self.constraints_in_words = " and ".join(map(str, readings.constraints))
        arms, persisting, deviations = readings.persisting(last)
        self.started, self._bounds = np.array([columns.of_arm[arm] for arm in arms]), persisting.bounds
        self._whitened = [process.whiten(scores) for scores in readings.scores(places).T]
        self._mean = np.column_stack([process.means(w) for w, _ in self._whitened])
        self._deviation = np.column_stack([process.deviations(scale) for _, scale in self._whitened])
        surer = deviations < self._deviation[self.started]
        self._mean[self.started] = np.where(surer, persisting.found, self._mean[self.started])
        self._deviation[self.started] = np.where(surer, deviations, self._deviation[self.started])
        self.probability = _fulfilled(self._constraints, Levels(self._mean, self._bounds), self._deviation)
        known = {columns.of_arm[arm]: loss for arm, loss in readings.lowest.items()}
        self.incumbents, self.losses = np.array(list(known), dtype=np.int64), np.array(list(known.values()))

    def at(self, points: Array) -> Array:
        """The probability of new configurations. Shape (m,)."""
        forecasts = [self._process.forecast_points(w, scale, points) for w, scale in self._whitened]
        mean, deviation = (np.column_stack([pair[i] for pair in forecasts]) for i in (0, 1))
        return _fulfilled(self._constraints, Levels(mean, self._bounds), deviation)

    def among(self, columns: Codes) -> Feasibility:
        """A process for each constraint, which is fitted to the forecast ends of these columns."""
        return Feasibility(self._history, self._points[columns], Levels(self._mean[columns], self._bounds), quick=True)

    def last(self, mean: Array) -> Array:
        """The ``mean`` of each column. Configurations that are more likely than not to violate a constraint come last,
        the most likely feasible first. Shape (m,).
        """
        return np.where(self.probability < 0.5, mean.max() + 1 - self.probability, mean)

    @property
    def hopeful(self) -> Mask:
        """Per column, False below LEAST_PROBABILITY, once some reading is feasible. Until then True, so that a wrong
        forecast of levels is noticed. Shape (m,).
        """
        hopeful = self.probability >= LEAST_PROBABILITY
        return hopeful if len(self.incumbents) else np.ones_like(hopeful)


def _fulfilled(constraints: tuple[Constraint, ...], ends: Levels, deviations: Array) -> Array:
    """The probability that all constraints are fulfilled at the end. Shape (n,)."""
    from scipy.special import ndtr  # here because it loads slowly

    certain = deviations == 0
    z = (ends.bounds - ends.found) / np.where(certain, 1.0, deviations)
    return np.asarray(np.where(certain, ends.reached(constraints), ndtr(z)).prod(axis=1))
