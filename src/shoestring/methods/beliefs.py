"""The freeze-thaw belief of a study: a pool of arms, their readings on a grid of steps, learned parameters.

Time is measured in units of one or more steps, and a decision trains one arm by one unit. Every arm has read the
beginning of one common grid, as the belief requires.

Everything is a function of the history. The pool doubles when half of it was started. Parameters are learned when
8, 16, 32, … readings are in, from exactly those; the belief is then rebuilt from these readings and updated with the
later ones in log order. So a state that was updated incrementally and one that is rebuilt from the log go through the
same arithmetic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import Continue, Decision, Start
from shoestring.core.history import Arm, Cursor, History, TrialRecord
from shoestring.core.observations import with_room
from shoestring.core.planned import next_given
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.methods.curve_beliefs import CurveBelief
from shoestring.methods.learning_curves import Pool, nothing_left, remaining_steps, steps_are_free
from shoestring.models.action_values import Outlook
from shoestring.models.freeze_thaw import Belief, Mixture, Parameters
from shoestring.models.freeze_thaw_learning import Readings, likeliest, sample
from shoestring.models.scores import loss_of_score, normal_scores
from shoestring.models.threads import one_thread
from shoestring.schedulers.rungs import top_resource
from shoestring.spaces.codec import Config

Learning = Literal["ml", "slice", None]
Scale = Literal["ranks", "raw"]

# A full training has at most this many units, unless a unit is given.
_UNITS = 27
# The least and the largest number of readings at which parameters are learned; both are powers of two.
_FIRST_FIT, _LAST_FIT = 8, 1024
# At most this many running trials are imputed, the last granted ones: the cost grows with the square of their number.
_MOST_IMPUTED = 128
# How many sets of parameters the slice sampler keeps.
_SAMPLES = 5

# The prior before any reading: fitted to the normal scores of recorded curves, in spaces of this many dimensions.
_DIMENSIONS = 7.5
_PRIOR: dict[str, Any] = {
    "alpha": 0.19, "beta": 0.172, "decay": 4.31, "noise": 5.1e-3, "spread": 3.44, "own": 2.5e-3,
    "lengthscale": 1.137, "mean": -0.043, "start": 1.42, "form": "matern52",
}  # fmt: skip


@dataclass(frozen=True)
class BeliefBasedMethod(ABC):
    """The common base of the methods on a freeze-thaw belief.

    ``pool`` arms are drawn at random, more when half of them are started; on a table they are rows. ``unit`` is
    how many steps one decision buys; if not given, enough that a full training has at most 27 units. Readings
    enter as normal scores of the best losses so far with ``scale="ranks"``, or unchanged with ``"raw"``.
    ``learn`` is how the parameters are learned from them: "ml", "slice", or None for never. ``parameters``
    replaces values of the fitted prior: the fields of :class:`shoestring.models.freeze_thaw.Parameters`.
    """

    pool: int = 300
    unit: int | None = None
    learn: Learning = None
    scale: Scale = "ranks"
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # Whether every grant goes to the last step.
    trains_fully: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for option in ("pool", "unit", "startup"):
            value = getattr(self, option, None)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise MethodError(f"{option} is {value!r}; it must be a whole number from 1")
        for option, allowed in (("learn", get_args(Learning)), ("scale", get_args(Scale))):
            if getattr(self, option) not in allowed:
                raise MethodError(f"{option} is {getattr(self, option)!r}; it can be {', '.join(map(repr, allowed))}")
        known = [f.name for f in fields(Parameters)]
        unknown = [name for name in self.parameters if name not in known]
        if unknown:
            raise MethodError(f"parameters has {unknown[0]!r}; there are {', '.join(known)}")
        self.prior(1)

    def prior(self, dimensions: int) -> Parameters:
        """The parameters before anything is learned; points are closer to each other in fewer dimensions."""
        fitted = _PRIOR["lengthscale"] * math.sqrt(dimensions / _DIMENSIONS)
        return Parameters(**{**_PRIOR, "lengthscale": fitted, **self.parameters})

    @one_thread()
    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        posterior = Posterior(self._state(history), history)
        given = next_given(history)
        if given is not None:
            return replace(posterior.start(given.config, given.reason), explanation=given.explanation)
        if not posterior.trainable.any():
            return nothing_left(history)
        if not history.arms:
            return posterior.grant_at_random(rng, "the first configuration, drawn at random")
        return self.choose(posterior, rng)

    def _state(self, history: History) -> BeliefState:
        top = top_resource(history, type(self).__name__, 1)
        state = history.cached(("belief", repr(self)), lambda: BeliefState(self, top))
        state.update(history)
        return state

    @one_thread()
    def belief(self, history: History, trials: Sequence[TrialRecord]) -> list[CurveBelief]:
        """Predict these trials at the next steps of the grid; with ranks, of the best loss so far."""
        state = self._state(history)
        return [state.curve(trial) if trial.readings and not trial.replicate else CurveBelief() for trial in trials]

    def loss(self, score: float, losses: Array, scores: Array) -> float:
        """The loss of a value of the belief, given the readings."""
        return loss_of_score(score, losses, scores) if self.scale == "ranks" and len(losses) else score

    @abstractmethod
    def choose(self, posterior: Posterior, rng: np.random.Generator) -> Decision:
        """The decision given the posterior; at least one arm was started, and at least one can be trained."""


@lru_cache
def grid(last: int, unit: int | None) -> tuple[int, ...]:
    """The steps at which arms are read.

    >>> grid(50, None)[:3], grid(50, None)[-1], grid(7, 3)
    ((2, 4, 6), 50, (3, 6, 7))
    """
    unit = unit or math.ceil(last / _UNITS)
    return (*range(unit, last, unit), last)


class BeliefState:
    """The pool, the readings and the belief of a study, updated incrementally.

    Columns are the pool, then arms that are not in it: arms of earlier pools, and arms that the user gave. ``values``
    (K, times) holds the losses on the grid, ``trainable`` (K,) says which columns can be started or continued, and
    ``arm_at`` holds the arms of the started ones.
    """

    def __init__(self, options: BeliefBasedMethod, top: int) -> None:
        self.options = options
        self.steps = np.array(grid(top, options.unit))
        self._generation = -1
        # Arm and loss of every reading on the grid, in log order.
        self.readings: list[tuple[int, float]] = []
        self._lowest: dict[int, float] = {}
        self._reached: dict[int, int] = {}
        self._outside: list[Arm] = []
        self._new_readings, self._grants, self._closings, self._arms = (Cursor() for _ in range(4))

    def update(self, history: History) -> None:
        changed = {grant.arm for grant in self._grants.new(history.grants)}
        changed.update(trial.arm for trial in self._closings.new(history.closings))
        for trial, step, loss in self._new_readings.new(history.readings):
            changed.add(trial.arm)
            if not trial.replicate:
                self._read(trial.arm, step, loss)
        if self._pool_grew(history) | self._has_more_outside(history):
            self._rebuild_columns(history)
            changed = set(range(len(history.arms)))
        for index in sorted(changed):
            arm = history.arms[index]
            column = self.column(arm)
            self.arm_at[column], self.trainable[column] = arm, arm.trials[0].state == "paused"
        self._update_belief(history)

    def _read(self, arm: int, step: int, loss: float) -> None:
        """A reading enters at every place of the grid that its arm passes; with ranks, the best loss so far does."""
        if self.options.scale == "ranks":
            loss = self._lowest[arm] = min(loss, self._lowest.get(arm, loss))
        place = self._reached.get(arm, 0)
        while place < len(self.steps) and step >= self.steps[place]:
            self.readings.append((arm, loss))
            place += 1
        self._reached[arm] = place

    def _pool_grew(self, history: History) -> bool:
        """The pool doubles whenever half of it was started."""
        generation, chosen = 0, len(history.arms) - history.given
        while chosen >= math.ceil(self.options.pool * 2.0**generation / 2):
            generation += 1
        if generation == self._generation:
            return False
        self._generation = generation
        self.pool = Pool(history, self.options.pool * 2**generation)
        self._outside, self._arms = [], Cursor()
        return True

    def _has_more_outside(self, history: History) -> bool:
        new = [arm for arm in self._arms.new(history.arms) if self.pool.index(arm.config) is None]
        self._outside += new
        return bool(new)

    def _rebuild_columns(self, history: History) -> None:
        points = [history.codec.encode(arm.config) for arm in self._outside]
        self.points = np.vstack([self.pool.points, *points]) if points else self.pool.points
        self._columns = {arm.index: len(self.pool) + i for i, arm in enumerate(self._outside)}
        self.arm_at: dict[int, Arm] = {}
        self.trainable = np.ones(len(self.points), dtype=bool)
        self._fit = -1
        self._choices = tuple(bool(n) for n in history.codec.choices)

    def column(self, arm: Arm) -> int:
        if arm.index not in self._columns:
            index = self.pool.index(arm.config)
            assert index is not None, "arms that are not in the pool have columns of their own"
            self._columns[arm.index] = index
        return self._columns[arm.index]

    def _update_belief(self, history: History) -> None:
        fit = self._fit_of(len(self.readings))
        if fit != self._fit:
            self._fit = fit
            self.values = np.zeros((len(self.points), len(self.steps)))
            self._counts = np.zeros(len(self.points), dtype=np.int64)
            self._taken = 0
            # In log order: the flat place of each reading in ``values``, and its loss.
            self._places, self._losses = np.zeros(0, dtype=np.int64), np.zeros(0)
            self._take(history, self.readings[:fit])
            self.belief = self._rebuild_belief(history)
        for column in self._take(history, self.readings[self._taken :]):
            self.belief.observe(column)

    def _fit_of(self, readings: int) -> int:
        """Return how many readings the parameters are learned from: a power of two; 0 before the first time."""
        if self.options.learn is None or readings < _FIRST_FIT:
            return 0
        return min(1 << (readings.bit_length() - 1), _LAST_FIT)

    def _take(self, history: History, readings: list[tuple[int, float]]) -> list[int]:
        """Enter readings into ``values``; returns their columns."""
        columns = [self.column(history.arms[arm]) for arm, _ in readings]
        total = self._taken + len(columns)
        self._places, self._losses = with_room(self._places, total), with_room(self._losses, total)
        for column, (_, loss) in zip(columns, readings, strict=True):
            place = int(self._counts[column])
            self.values[column, place] = loss
            self._counts[column] += 1
            self._places[self._taken], self._losses[self._taken] = column * len(self.steps) + place, loss
            self._taken += 1
        return columns

    def _rebuild_belief(self, history: History) -> Mixture:
        """The belief given the readings that the parameters are learned from."""
        times = np.arange(1.0, len(self.steps) + 1)
        found = [self.options.prior(self.points.shape[1])]
        if self._fit:
            seen = np.flatnonzero(self._counts)
            readings = Readings(
                self.points[seen], times, self.score_readings()[0][seen], self._counts[seen], self._choices
            )
            if self.options.learn == "ml":
                found = [likeliest(found[0], readings)]
            else:
                found = sample(found[0], readings, _SAMPLES, generator(history.seed, self._fit, "belief"))
        return Mixture([Belief(one, self.points, times, self._choices, self._counts) for one in found])

    def curve(self, trial: TrialRecord) -> CurveBelief:
        """The belief about one trial at the places of the grid that it has not reached."""
        values, scores, losses = self.score_readings()
        column = self._columns[trial.arm]
        places = np.arange(int(self.belief.counts[column]) + 1, len(self.steps) + 1)
        mean = self.belief.means(values)[column, places - 1]
        deviation = np.sqrt(self.belief.variances(np.full(len(places), column), places))
        ranked = self.options.scale == "ranks" and len(scores) > 0
        known = (scores.min(), scores.max()) if ranked else (-math.inf, math.inf)
        steps = self.steps[places - 1].tolist()
        return CurveBelief.of_normal(steps, mean, deviation, lambda s: self.options.loss(s, losses, scores), known)

    def score_readings(self) -> tuple[Array, Array, Array]:
        """The readings on the scale of the belief as (K, times); and scores and losses in log order."""
        losses = self._losses[: self._taken]
        if self.options.scale == "raw" or not len(losses):
            return self.values, losses, losses
        scores = normal_scores(losses)
        scored = np.zeros_like(self.values)
        scored.ravel()[self._places[: self._taken]] = scores
        return scored, scores, losses


class Posterior:
    """The belief at one decision; running trials, the last ones of many, are imputed with the posterior mean.

    ``belief``, ``values`` and ``means`` (K, times) include the imputed readings; ``incumbent`` is the best score so
    far, infinite before any reading; ``remaining`` is the number of steps that the rest of the budget buys.
    """

    def __init__(self, state: BeliefState, history: History) -> None:
        self.state, self.history = state, history
        self.steps, self.arm_at, self.trainable = state.steps, state.arm_at, state.trainable
        self.remaining = remaining_steps(history)
        self.values, self._scores, self._losses = state.score_readings()
        self.incumbent = float(self._scores.min()) if len(self._scores) else math.inf
        self.belief = state.belief
        self.means = self.belief.means(self.values)
        if history.running:
            self._impute_running()

    def _impute_running(self) -> None:
        counts, self.values = self.belief.counts.copy(), self.values.copy()
        for trial in list(self.history.running.values())[-_MOST_IMPUTED:]:
            column = self.state.column(self.history.arms[trial.arm])
            read, until = counts[column], int(np.searchsorted(self.steps, trial.until, side="right"))
            self.values[column, read:until] = self.means[column, read:until]
            counts[column] = max(read, until)
        self.belief = self.belief.ahead(counts)
        self.means = self.belief.means(self.values)

    @cached_property
    def outlook(self) -> Outlook:
        """Predict what each arm can reach with the remaining budget."""
        return Outlook.of(self.belief, self.means, self.steps, self.remaining, self.trainable)

    def grant(self, column: int, reason: str) -> Decision:
        """Train an arm by one unit; to its end if the method does so or if only trials are counted."""
        arm = self.arm_at.get(column)
        if arm is None:
            return self.start(self.state.pool.config(column), reason)
        last = len(self.steps) if self._trains_fully else min(int(self.belief.counts[column]) + 1, len(self.steps))
        return Continue(arm.trials[0].index, int(self.steps[last - 1]), reason)

    def start(self, config: Config, reason: str) -> Start:
        """Train a new configuration by one unit, or to its end."""
        until = int(self.steps[-1 if self._trains_fully else 0])
        if not self.arm_at:  # the first grant must fit into the budget as a whole
            until = max(1, int(min(until, self.remaining)))
        return Start(until, reason, config)

    @property
    def _trains_fully(self) -> bool:
        return self.state.options.trains_fully or steps_are_free(self.history)

    def lowest(self, values: Array, rng: np.random.Generator) -> int:
        """The column with the lowest value; new ones with the same value have no order, so one is drawn."""
        column = int(values.argmin())
        if column in self.arm_at:
            return column
        equal = [other for other in np.flatnonzero(values == values[column]).tolist() if other not in self.arm_at]
        return int(rng.choice(equal)) if len(equal) > 1 else column

    def grant_at_random(self, rng: np.random.Generator, reason: str) -> Decision:
        return self.grant(int(rng.choice(self.trainable.nonzero()[0])), reason)

    def name(self, column: int) -> str:
        arm = self.arm_at.get(column)
        return "a new configuration" if arm is None else f"trial {arm.trials[0].index}"

    def in_users_units(self, score: float) -> str:
        """A score as a reading."""
        return f"{self.history.sign * self.state.options.loss(score, self._losses, self._scores):.4g}"
