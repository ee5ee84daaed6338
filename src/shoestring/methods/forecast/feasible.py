"""Which configurations will fulfil the constraints of the study at their end.

A constraint is on a number, its *level*. A latency does not change along a training, so that one early reading tells
all; an accuracy does. The study shows which it is: the changes between milestones say how far a level is expected to
move until the end. Of what was not started, the end is predicted by a Gaussian process of the expected ends
(``samplers/feasibility.py``).

======== ========= ==============================================================================
symbol   shape     meaning
======== ========= ==============================================================================
x        (n, k)    the levels of all readings at milestones, as scores; small is good
b        (k,)      the bounds, as scores
Δx, Δl   (c, k)    the changes of levels, and of log steps, from each milestone to the next
μ, σ²    (k,)      drift and variance of a level for a log step: Δx ~ N(μ Δl, σ² Δl)
======== ========= ==============================================================================

While there are few changes, σ² is drawn towards that of recorded learning curves.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.goals import Constraint
from shoestring.core.history import History, TrialRecord
from shoestring.core.scores import tame
from shoestring.core.weighing import level
from shoestring.methods.forecast.columns import Columns
from shoestring.samplers.feasibility import Feasibility, Levels, bounds_of

# Configurations that are less likely to be feasible than this are neither promoted by rank nor finished.
LEAST_PROBABILITY = 0.05
# What recorded curves show of σ², until there are this many changes.
_RECORDED, _ENOUGH = 0.1, 10


class ConstraintReadings:
    """The levels of all arms at milestones, in the order of the log, and by arm the best feasible loss so far."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        self.constraints = constraints
        self.lowest: dict[int, float] = {}
        self._levels: list[list[float]] = []
        self._steps: list[int] = []
        self._before: list[int] = []  # the place of the arm's reading at the milestone before, -1 if there is none
        self._missed: set[tuple[int, int]] = set()
        self._latest: dict[int, int] = {}

    def add(self, trial: TrialRecord, step: int, loss: float, at_milestone: bool) -> None:
        arm = trial.arm
        if trial.is_feasible(step):
            self.lowest[arm] = min(loss, self.lowest.get(arm, loss))
        elif at_milestone:
            self._missed.add((arm, step))
        if at_milestone:
            self._before.append(self._latest.get(arm, -1))
            self._latest[arm] = len(self._steps)
            self._steps.append(step)
            self._levels.append([level(constraint, trial, step) for constraint in self.constraints])

    def misses(self, arm: int, step: int) -> bool:
        """Return whether the reading of an arm at a milestone violates a constraint."""
        return (arm, step) in self._missed

    def ends(self, last: int) -> tuple[list[int], Levels, Array]:
        """The arms with readings, their expected levels at the last step, as scores, and the deviations (n, k)."""
        raw, logs, before = np.array(self._levels), np.log(self._steps), np.array(self._before)
        arms = list(self._latest)
        latest = np.array([self._latest[arm] for arm in arms])
        ahead = math.log(last) - logs[latest]
        known, later = bounds_of(self.constraints), np.flatnonzero(before >= 0)
        gaps = logs[later] - logs[before[later]]
        means, deviations, bounds = np.zeros((len(arms), len(known))), np.zeros((len(arms), len(known))), known.copy()
        for j, bound in enumerate(known):
            scores = tame(np.append(raw[:, j], bound))
            drift, variance = _changes(scores[later] - scores[before[later]], gaps)
            means[:, j] = scores[latest] + drift * ahead
            deviations[:, j], bounds[j] = np.sqrt(variance * ahead), scores[-1]
        return arms, Levels(means, bounds), deviations


def _changes(changes: Array, gaps: Array) -> tuple[float, float]:
    """μ and σ²; 0 and 0 once levels are seen not to change."""
    drift = float(changes.sum() / gaps.sum()) if len(gaps) >= _ENOUGH else 0.0
    assumed = max(0.0, 1 - len(gaps) / _ENOUGH)
    return drift, float((_RECORDED * assumed + ((changes - drift * gaps) ** 2 / gaps).sum()) / (assumed + len(gaps)))


class EndFeasibility:
    """The probability that each column fulfils all constraints at its end, for one decision.

    ``started`` are the columns with readings, and ``model`` is the process of their ends.
    """

    def __init__(self, history: History, columns: Columns, readings: ConstraintReadings, last: int) -> None:
        self._history, self._points = history, columns.points
        self.constraints_in_words = " and ".join(map(str, readings.constraints))
        arms, self._ends, deviations = readings.ends(last)
        self.started = np.array([columns.of_arm[arm] for arm in arms])
        self._own = np.full(len(columns.points), np.nan)
        self._own[self.started] = _fulfilled(readings.constraints, self._ends, deviations)
        known = {columns.of_arm[arm]: loss for arm, loss in readings.lowest.items()}
        self.incumbents, self.losses = np.array(list(known), dtype=np.int64), np.array(list(known.values()))

    @cached_property
    def model(self) -> Feasibility:
        return Feasibility(self._history, self._points[self.started], self._ends, quick=True)

    @cached_property
    def probability(self) -> Array:
        """Per column: by its own readings if it has any. Shape (m,)."""
        found, others = self._own.copy(), np.isnan(self._own)
        found[others] = self.model.probability(self._points[others])
        return found

    def of_started(self, column: int) -> float:
        """The probability of a column with readings."""
        return float(self._own[column])

    def among(self, columns: Codes) -> Feasibility:
        """The process, and which of these started columns are expected to fulfil the constraints."""
        place = {column: i for i, column in enumerate(self.started.tolist())}
        return self.model.among(np.array([place[column] for column in columns.tolist()], dtype=np.int64))

    def last(self, mean: Array) -> Array:
        """The ``mean`` of each column, that of the started ones that will rather violate the constraints after all
        others, the likeliest first. Shape (m,).
        """
        unlikely = self._own < 0.5
        return np.where(unlikely, mean.max() + 1 - np.where(unlikely, self._own, 0.0), mean)

    @property
    def hopeful(self) -> Mask:
        """Per column, whether it may be trained further: what has nearly no chance is not, once another one is
        feasible. Until then it is, so that a wrong forecast of levels is noticed. Shape (m,).
        """
        return ~(self._own < LEAST_PROBABILITY) if len(self.incumbents) else np.ones(len(self._own), dtype=bool)


def _fulfilled(constraints: tuple[Constraint, ...], ends: Levels, deviations: Array) -> Array:
    """The probability that all constraints are fulfilled at the end. Shape (n,)."""
    from scipy.special import ndtr  # here because it loads slowly

    certain = deviations == 0
    z = (ends.bounds - ends.found) / np.where(certain, 1.0, deviations)
    strict = np.array([one.strict for one in constraints])
    reached = np.where(strict, ends.found < ends.bounds, ends.found <= ends.bounds)
    return np.asarray(np.where(certain, reached, ndtr(z)).prod(axis=1))
