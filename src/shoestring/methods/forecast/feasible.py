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
Δx, Δl   (c,)      the changes of a level, and of the log step, from a milestone to the next
μ, β, σ²           per milestone, their law: Δx ~ N((μ + βx) Δl, σ² Δl)
======== ========= ==============================================================================

With β below 0 levels come closer to each other: what is high early says little. The law of a milestone is drawn to that
of the one before, the less the more changes were seen there. Before the first one μ and β are 0, and σ² is that of
recorded learning curves until some changes were seen.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.goals import Constraint
from shoestring.core.history import History, TrialRecord
from shoestring.core.scores import tame
from shoestring.core.weighing import level
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.milestones import milestones
from shoestring.samplers.feasibility import Feasibility, Levels, bounds_of

# Configurations that are less likely to be feasible than this are neither promoted by rank nor finished.
LEAST_PROBABILITY = 0.05
# What recorded curves show of σ², until there are this many changes.
_RECORDED, _ENOUGH = 0.1, 10
# The changes at the milestone before count as much as this many.
_DRAWN = 2


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
        raw, steps, before = np.array(self._levels), np.array(self._steps), np.array(self._before)
        arms = list(self._latest)
        latest, later = np.array([self._latest[arm] for arm in arms]), np.flatnonzero(before >= 0)
        earlier, bounds = before[later], bounds_of(self.constraints)
        means, deviations = np.zeros((len(arms), len(bounds))), np.zeros((len(arms), len(bounds)))
        for j, bound in enumerate(bounds.copy()):
            scores = tame(np.append(raw[:, j], bound))
            gaps = np.log(steps[later] / steps[earlier])
            seen = _Changes(steps[earlier], gaps, scores[earlier], scores[later] - scores[earlier])
            means[:, j], variance = seen.until(last, steps[latest], scores[latest])
            deviations[:, j], bounds[j] = np.sqrt(variance), scores[-1]
        return arms, Levels(means, bounds), deviations


class _Changes(NamedTuple):
    """The changes of a level: the steps after which they came, how long they took, Δl, the levels then, and Δx."""

    after: Codes
    gaps: Array
    levels: Array
    changes: Array

    def until(self, last: int, steps: Codes, levels: Array) -> tuple[Array, Array]:
        """The mean and the variance at the last step of what has these levels at these steps. Shape (n,)."""
        law, stops = np.zeros(2), milestones(last)
        noise = _RECORDED * max(0.0, 1 - len(self.changes) / _ENOUGH)
        means, variances = levels.copy(), np.zeros(len(levels))
        for stop, following in pairwise(stops):
            law, noise = self._law(stop, law, noise)
            length, ahead = math.log(following / stop), steps <= stop
            kept = max(1 + length * law[1], 0.0)
            means[ahead] = means[ahead] * kept + length * law[0]
            variances[ahead] = variances[ahead] * kept**2 + length * noise
        return means, variances

    def _law(self, stop: int, drawn: Array, noise: float) -> tuple[Array, float]:
        """μ and β, and σ², of the changes after a milestone: a regression that is drawn to those before it."""
        own = self.after == stop
        if not own.any():
            return drawn, noise
        roots, count = np.sqrt(self.gaps[own]), int(own.sum())
        A, target = roots[:, None] * np.column_stack([np.ones(count), self.levels[own]]), self.changes[own] / roots
        weight = _DRAWN * float(self.gaps[own].mean())
        law = np.linalg.solve(weight * np.eye(2) + A.T @ A, weight * drawn + A.T @ target)
        return law, (_DRAWN * noise + float(((target - A @ law) ** 2).sum())) / (_DRAWN + count)


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
        """Per column, whether it is not known to be nearly without a chance. Shape (m,)."""
        return ~(self._own < LEAST_PROBABILITY)


def _fulfilled(constraints: tuple[Constraint, ...], ends: Levels, deviations: Array) -> Array:
    """The probability that all constraints are fulfilled at the end. Shape (n,)."""
    from scipy.special import ndtr  # here because it loads slowly

    certain = deviations == 0
    z = (ends.bounds - ends.found) / np.where(certain, 1.0, deviations)
    strict = np.array([one.strict for one in constraints])
    reached = np.where(strict, ends.found < ends.bounds, ends.found <= ends.bounds)
    return np.asarray(np.where(certain, reached, ndtr(z)).prod(axis=1))
