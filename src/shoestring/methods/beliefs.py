"""A study as the freeze-thaw belief sees it: a pool of arms, their readings on a grid of steps, learned parameters.

Time is in units: a full training has T steps, a unit is so many of them, and a decision trains one arm by
one unit. Every arm has read the beginning of one grid, as the belief asks.

All of it is a function of the history. The pool doubles when half of it was begun; parameters are learned
when 8, 16, 32, … readings are in, from exactly those; after each such turn the belief is made anew from the
readings that were learned from, and led on by the later ones in log order. So a view that was kept
up to date and one made from scratch go through the same arithmetic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Continue, Decision, Done, Start, Wait
from shoestring.core.history import Arm, History
from shoestring.core.observations import with_room
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.methods.learning_curves import Pool, loss_of_score, remaining_steps, steps_are_free, trial_of
from shoestring.models.scores import normal_scores
from shoestring.models.threads import one_thread
from shoestring.schedulers.rungs import top_resource

if TYPE_CHECKING:
    from shoestring.models.action_values import Outlook
    from shoestring.models.freeze_thaw import Mixture, Parameters

Array = NDArray[np.float64]

# A full training has at most so many units, unless a unit is given.
_UNITS = 27
# Readings at which parameters are learned: from the first to the last, by a factor.
_FIRST_FIT, _LAST_FIT, _FACTOR = 8, 1024, 2
# Sets of parameters that are kept of a slice sampler's.
_SAMPLES = 5

# Of the spaces that the shipped prior was fitted on.
_DIMENSIONS = 7.5

# What curves are like before any is seen: fitted to the normal scores of recorded curves.
SHIPPED: dict[str, Any] = {
    "alpha": 0.19, "beta": 0.172, "decay": 4.31, "noise": 5.1e-3, "spread": 3.44, "own": 2.5e-3,
    "lengthscale": 1.137, "mean": -0.043, "start": 1.42, "form": "matern52",
}  # fmt: skip


@dataclass(frozen=True)
class OnBelief(ABC):
    """What the methods on a freeze-thaw belief have in common.

    ``pool`` arms are drawn at random, more when half of them are begun; on a table they are rows. ``unit`` is
    how many steps one decision buys; if not given, so many that a full training has at most 27 units. Readings
    enter as normal scores of the best losses so far with ``scale="ranks"``, or as they are with ``"raw"``.
    ``learn`` is how the parameters are learned from them: "ml", "slice", or None for never. ``parameters`` are
    those to start from, where they differ from the shipped ones: the fields of
    :class:`shoestring.models.freeze_thaw.Parameters`.
    """

    pool: int = 300
    unit: int | None = None
    learn: str | None = None
    scale: str = "ranks"
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    name: ClassVar[str] = "a method on a belief"
    # The options that are whole numbers from 1, or not given.
    counts: ClassVar[tuple[str, ...]] = ("pool", "unit")

    def __post_init__(self) -> None:
        for option in self.counts:
            value = getattr(self, option)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise MethodError(f"{option} is {value!r}; it is a whole number from 1")
        for option, allowed in (("learn", ("ml", "slice", None)), ("scale", ("ranks", "raw"))):
            if getattr(self, option) not in allowed:
                raise MethodError(f"{option} is {getattr(self, option)!r}; it can be {', '.join(map(repr, allowed))}")
        self.prior()

    def prior(self) -> Parameters:
        """The parameters before anything is learned."""
        from shoestring.models.freeze_thaw import Parameters

        known = [f.name for f in fields(Parameters)]
        unknown = [name for name in self.parameters if name not in known]
        if unknown:
            raise MethodError(f"parameters has {unknown[0]!r}; there are {', '.join(known)}")
        return Parameters(**{**SHIPPED, **self.parameters})

    @one_thread()
    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        top = top_resource(history, self.name, 1)
        view = history.cached((self.name, "view", repr(self)), lambda: View(self, top)).update(history)
        now = view.now(history)
        return now.nothing_to_do(history) or self.choose(now, history, rng)

    @abstractmethod
    def choose(self, now: Now, history: History, rng: np.random.Generator) -> Decision:
        """The decision, given what the belief says now; at least one arm can be trained."""


@lru_cache
def grid(last: int, unit: int | None) -> tuple[int, ...]:
    """The steps at which arms are read.

    >>> grid(50, None)[:3], grid(50, None)[-1], grid(7, 3)
    ((2, 4, 6), 50, (3, 6, 7))
    """
    unit = unit or math.ceil(last / _UNITS)
    return (*range(unit, last, unit), last)


class View:
    """Columns are the pool, then arms of earlier pools. ``values`` (K, times) holds the losses on the grid."""

    def __init__(self, options: OnBelief, top: int) -> None:
        self.options = options
        self.steps = np.array(grid(top, options.unit))
        self._generation = -1
        # Place on the grid and loss of every reading, in log order, with its arm.
        self.readings: list[tuple[int, float]] = []
        self._lowest: dict[int, float] = {}
        self._reached: dict[int, int] = {}
        self._seen = {"readings": 0, "grants": 0, "closings": 0}

    def update(self, history: History) -> View:
        changed = {grant.arm for grant in history.grants[self._seen["grants"] :]}
        changed.update(trial.arm for trial in history.closings[self._seen["closings"] :])
        for trial, step, loss in history.readings[self._seen["readings"] :]:
            changed.add(trial.arm)
            if not trial.replicate:
                self._read(trial.arm, step, loss)
        self._seen = {name: len(getattr(history, name)) for name in self._seen}
        generation = self._generation_of(history)
        if generation != self._generation:
            self._generation = generation
            self._gather(history)
            changed = set(range(len(history.arms)))
        for index in sorted(changed):
            arm = history.arms[index]
            column = self.column(arm)
            self.arm_at[column], self.open[column] = arm, trial_of(arm).state == "paused"
        self._learn_and_observe(history)
        return self

    def _read(self, arm: int, step: int, loss: float) -> None:
        """A reading counts where its arm passes a place of the grid; as ranks, the best so far does."""
        if self.options.scale == "ranks":
            loss = self._lowest[arm] = min(loss, self._lowest.get(arm, loss))
        place = self._reached.get(arm, 0)
        while place < len(self.steps) and step >= self.steps[place]:
            self.readings.append((arm, loss))
            place += 1
        self._reached[arm] = place

    def _generation_of(self, history: History) -> int:
        """How often the pool has doubled: whenever half of it was begun."""
        generation = 0
        while len(history.arms) >= self._old_arms(generation + 1):
            generation += 1
        return generation

    def _old_arms(self, generation: int) -> int:
        """The arms that were begun before a pool."""
        return math.ceil(self.options.pool * 2.0 ** (generation - 1) / 2) if generation else 0

    def _gather(self, history: History) -> None:
        """The columns of a pool, nothing read yet."""
        self.pool = Pool(history, self.options.pool * 2**self._generation)
        old = history.arms[: self._old_arms(self._generation)]
        outside = [arm for arm in old if self.pool.place(arm.config) is None]
        points = [history.codec.encode(arm.config) for arm in outside]
        self.points = np.vstack([self.pool.points, *points]) if points else self.pool.points
        self._outside = {arm.index: len(self.pool) + i for i, arm in enumerate(outside)}
        self._columns: dict[int, int] = {}
        self.arm_at: dict[int, Arm] = {}
        self.open = np.ones(len(self.points), dtype=bool)
        self._fit = -1
        self.choices = tuple(bool(n) for n in history.codec.choices)

    def column(self, arm: Arm) -> int:
        if arm.index not in self._columns:
            place = self.pool.place(arm.config)
            self._columns[arm.index] = self._outside[arm.index] if place is None else place
        return self._columns[arm.index]

    def _learn_and_observe(self, history: History) -> None:
        fit = self._fit_of(len(self.readings))
        if fit != self._fit:
            self._fit = fit
            self.values = np.zeros((len(self.points), len(self.steps)))
            self._counts = np.zeros(len(self.points), dtype=np.int64)
            self._taken = 0
            # In log order: where a reading belongs in ``values``, as a flat place, and its loss.
            self._where, self._losses = np.zeros(0, dtype=np.int64), np.zeros(0)
            self._take(history, self.readings[:fit])
            self.belief = self._believed(history)
        for column in self._take(history, self.readings[self._taken :]):
            self.belief.observe(column)

    def _fit_of(self, readings: int) -> int:
        """How many readings the parameters were learned from, at the latest turn."""
        if self.options.learn is None or readings < _FIRST_FIT:
            return 0
        turn = int(math.log(readings / _FIRST_FIT, _FACTOR) + 1e-12)
        return min(int(_FIRST_FIT * _FACTOR**turn), _LAST_FIT)

    def _take(self, history: History, readings: list[tuple[int, float]]) -> list[int]:
        """Put readings where they belong; their columns."""
        columns = [self.column(history.arms[arm]) for arm, _ in readings]
        self._where, self._losses = (
            with_room(array, self._taken + len(columns)) for array in (self._where, self._losses)
        )
        for column, (_, loss) in zip(columns, readings, strict=True):
            place = int(self._counts[column])
            self.values[column, place] = loss
            self._counts[column] += 1
            self._where[self._taken], self._losses[self._taken] = column * len(self.steps) + place, loss
            self._taken += 1
        return columns

    def _believed(self, history: History) -> Mixture:
        """The belief of what was learned from."""

        from shoestring.models.freeze_thaw import Belief, Mixture

        times = np.arange(1.0, len(self.steps) + 1)
        likely = self._learned(times, generator(history.seed, self._fit, "belief")) if self._fit else [self.prior]
        return Mixture([Belief(one, self.points, times, self.choices, self._counts) for one in likely])

    @property
    def prior(self) -> Parameters:
        """The shipped length belongs to spaces of so many dimensions: where there are fewer, points are nearer."""
        prior = self.options.prior()
        if "lengthscale" in self.options.parameters:
            return prior
        return replace(prior, lengthscale=prior.lengthscale * math.sqrt(self.points.shape[1] / _DIMENSIONS))

    def _learned(self, times: Array, rng: np.random.Generator) -> list[Parameters]:

        from shoestring.models.freeze_thaw_learning import Readings, likeliest, sampled

        seen = np.flatnonzero(self._counts)
        readings = Readings(self.points[seen], times, self.scored()[0][seen], self._counts[seen], self.choices)
        if self.options.learn == "ml":
            return [likeliest(self.prior, readings)]
        return sampled(self.prior, readings, _SAMPLES, rng)

    def scored(self) -> tuple[Array, Array, Array]:
        """The readings on the scale of the belief: as ``values``, and in log order beside their losses."""
        losses = self._losses[: self._taken]
        if self.options.scale == "raw" or not len(losses):
            return self.values, losses, losses
        scores = normal_scores(losses)
        scored = np.zeros_like(self.values)
        scored.ravel()[self._where[: self._taken]] = scores
        return scored, scores, losses

    def now(self, history: History) -> Now:
        return Now(self, history)


class Now:
    """What the belief says at one decision; running grants are thought of as come out as expected.

    ``open`` says which columns can be trained on, ``arm_at`` whose they are where they were begun, ``left``
    how many steps are left; ``belief``, ``values`` and ``means`` (K, times) are with the running grants,
    ``in_hand`` is the best score so far.
    """

    def __init__(self, view: View, history: History) -> None:
        self.view, self.steps = view, view.steps
        self.left = remaining_steps(history)
        self.to_the_end = steps_are_free(history)
        self.sign = history.sign
        self.values, self.scores, self.losses = view.scored()
        self.in_hand = float(self.scores.min()) if len(self.scores) else math.inf
        self.arm_at, self.open = view.arm_at, view.open
        self.belief = view.belief
        self.means = self.belief.means(self.values)
        if history.running:
            self._promise(history)

    @cached_property
    def outlook(self) -> Outlook:
        """What each arm can reach with what is left."""
        from shoestring.models.action_values import outlook

        return outlook(self.belief, self.means, self.steps, self.left, self.open)

    def _promise(self, history: History) -> None:
        self.belief, self.values = self.belief.copy(), self.values.copy()
        for trial in history.running.values():
            column = self.view.column(history.arms[trial.arm])
            place = int(self.belief.counts[column])
            while place < len(self.steps) and self.steps[place] <= trial.until:
                self.values[column, place] = self.means[column, place]
                self.belief.observe(column)
                place += 1
        self.means = self.belief.means(self.values)

    def nothing_to_do(self, history: History) -> Decision | None:
        if self.open.any():
            return None
        if history.running:
            return Wait("everything that could go on is running")
        return Done("every configuration has been trained to its end")

    def trained(self, column: int, reason: str, places: int = 1) -> Decision:
        """Train an arm by some units; to its end where only trials are counted."""
        reached = int(self.belief.counts[column])
        last = len(self.steps) if self.to_the_end else min(reached + places, len(self.steps))
        until = int(self.steps[last - 1])
        arm = self.arm_at.get(column)
        if arm is not None:
            return Continue(trial_of(arm).index, until, reason)
        if not self.arm_at:  # the first grant must fit into the budget whole
            until = max(1, int(min(until, self.left)))
        return Start(until, reason, self.view.pool.config(column))

    def at_random(self, rng: np.random.Generator, why: str = "the first arm, at random", places: int = 1) -> Decision:
        """Train any arm that can be trained."""
        return self.trained(int(rng.choice(self.open.nonzero()[0])), why, places)

    def who(self, column: int) -> str:
        arm = self.arm_at.get(column)
        return "a new arm" if arm is None else f"arm {arm.index}"

    def in_words(self, score: float) -> str:
        """A score in the user's units."""
        loss = score
        if self.view.options.scale == "ranks" and len(self.losses):
            loss = loss_of_score(score, self.losses, self.scores)
        return f"{self.sign * loss:.4g}"
