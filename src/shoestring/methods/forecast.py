"""Forecast: train what promises most at the end for the steps it costs, by a process fitted to recorded curves.

Beyond the papers; what was measured is in benchmarks/RESULTS.md.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
m        milestones 1, 2, 3, 5, 8, 13, … T: a grant carries one arm to its next one
u        the best-so-far losses at milestones of all arms, as normal scores
EI       expected improvement on the best u, of an arm's forecast at T
======== =========================================================================

A few random arms are begun. Then, at every decision:

1. *End game*: the begun arm with the best forecast goes on, if r ≤ T/2 or it needs all of r.
2. *Guard*: while promotions by rank (as ASHA's) have had under a third of the steps, one more if there is one.
   It keeps the method honest where the process is wrong.
3. *Model*: of all arms that can go on and all that can be begun, the one with the most EI per step.

Scores are made anew from all readings at each decision, so nothing depends on the scale of the losses.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Continue, Decision, Done, Start, Wait, read_state
from shoestring.core.history import Arm, History
from shoestring.core.untried import propose_new, tried
from shoestring.errors import MethodError
from shoestring.methods.learning_curves import (
    Pool,
    counted,
    expected_improvement,
    loss_of_score,
    remaining_steps,
    steps_are_free,
    trial_of,
)
from shoestring.models.scores import normal_scores
from shoestring.models.threads import one_thread
from shoestring.samplers import Random
from shoestring.samplers.candidates import around
from shoestring.schedulers.rungs import top_resource
from shoestring.spaces.codec import Codec, Config

if TYPE_CHECKING:
    from shoestring.models.curve_process import CurveProcess

Array = NDArray[np.float64]

# Promotions by rank compare arms at every second milestone: 1, 3, 8, 21, … is nearly a factor of 3.
_RUNG = 2
# Readings that the process holds at most; beyond, half of them are kept: the last ones of the best arms.
_MOST_READINGS = 2000
# New configurations near the chosen one and the best begun ones, compared before an arm is begun.
_NEAR = 48


@lru_cache
def milestones(last: int) -> tuple[int, ...]:
    """Where arms pause: Fibonacci's numbers up to the last step.

    >>> from shoestring.methods.forecast import milestones
    >>> milestones(50)
    (1, 2, 3, 5, 8, 13, 21, 34, 50)
    """
    found, following = [1], 2
    while following < last:
        found.append(following)
        following += found[-2]
    return (*found, last) if last > 1 else (1,)


@dataclass(frozen=True)
class _By:
    """Which rule decided a grant: "end game", "guard" or "model"."""

    rule: str


@dataclass(frozen=True)
class Forecast:
    """Spend the budget where the forecast of the end gains most per step.

    ``startup`` arms are begun at random. New arms come from a ``pool`` of so many configurations (all of a smaller
    space; rows of a table), and from the neighbourhood of good ones. ``guard`` is the share of the steps that goes to
    promotions by rank, ``eta`` how strict these are.
    """

    startup: int = 10
    pool: int = 2000
    guard: float = 1 / 3
    eta: float = 3
    max_resource: int | None = None
    reference: ClassVar[str] = (
        "Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014, for forecasting learning curves; "
        "the process and the rule are shoestring's own"
    )

    def __post_init__(self) -> None:
        for option, least in (("startup", 1), ("pool", 1)):
            value = getattr(self, option)
            if not isinstance(value, int) or value < least:
                raise MethodError(f"{option} is {value!r}; it is a whole number from {least}")
        if not 0 <= self.guard <= 1:
            raise MethodError(f"guard is {self.guard!r}; it is a share of the steps, between 0 and 1")
        if not self.eta > 1:
            raise MethodError(f"eta is {self.eta!r}; the best 1/eta are promoted, so it is a number above 1")

    @one_thread()
    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        top = top_resource(history, "forecast")
        view = history.cached(("forecast", self), lambda: _View(history, self, top)).update(history)
        first = top if steps_are_free(history) else 1
        if len(history.arms) < self.startup or not view.losses:
            start = _random(history, rng, first, "one of the first arms")
            if start is not None:
                return start
        if not view.losses:
            return _nothing(history)
        outlook = view.outlook(history)
        return (
            self._end_game(history, view, outlook, top)
            or self._promotion(history, view)
            or self._most_improvement(history, view, outlook, rng, first)
        )

    def _end_game(self, history: History, view: _View, outlook: _Outlook, top: int) -> Continue | None:
        """(1) Little is left: the arm that will be best goes on."""
        left = remaining_steps(history)
        if not view.paused.any() or left == math.inf:
            return None
        chosen = view.arm_at[int(np.argmin(np.where(view.paused, outlook.mean, np.inf)))]
        trial = trial_of(chosen)
        if left > top / 2 and left > top - trial.step:
            return None
        reason = f"{counted(left)} left and {outlook.told(view, chosen)}, the best of those that can go on"
        return Continue(trial.index, view.next_milestone(trial.step), reason, state=_By("end game"))

    def _promotion(self, history: History, view: _View) -> Continue | None:
        """(2) The best arm that stands in the top 1/eta of its rung, the highest rung first."""
        if view.guarded >= self.guard * history.ledger.steps:
            return None
        for level in range(len(view.rungs) - 2, -1, -1):
            ranked = view.ranked[level]
            for place, (_, index) in enumerate(ranked[: int(len(ranked) / self.eta)]):
                arm = history.arms[index]
                trial = trial_of(arm)
                if trial.state == "paused" and trial.step < view.rungs[level + 1]:
                    reason = f"number {place + 1} of the {len(ranked)} that reached step {view.rungs[level]}"
                    return Continue(trial.index, view.next_milestone(trial.step), reason, state=_By("guard"))
        return None

    def _most_improvement(
        self, history: History, view: _View, outlook: _Outlook, rng: np.random.Generator, first: int
    ) -> Decision:
        """(3) The most expected improvement at T per step to the next milestone."""
        gain = outlook.improvement / view.cost
        gain[~view.open] = -1.0
        best = int(np.argmax(gain))
        if gain[best] < 0:
            return _random(history, rng, first, "the pool is used up, so a new arm") or _nothing(history)
        arm = view.arm_at.get(best)
        if arm is not None:
            trial = trial_of(arm)
            until = view.next_milestone(trial.step)
            reason = f"{outlook.told(view, arm)}, the most improvement to expect for {counted(until - trial.step)}"
            return Continue(trial.index, until, reason, state=_By("model"))
        config, mean = self._refined(history, view, outlook, best, rng)
        reason = (
            f"a new arm, forecast to reach {outlook.in_words(mean)}, promises the most improvement for its first step"
        )
        return Start(first, reason, config, state=_By("model"))

    def _refined(
        self, history: History, view: _View, outlook: _Outlook, best: int, rng: np.random.Generator
    ) -> tuple[Config, float]:
        """The best new arm of the pool, or one near it or near a good arm if that promises more."""
        config, mean = view.pool.config(best), float(outlook.mean[best])
        if history.codec.rows is not None or (history.codec.finite and len(view.pool) < self.pool):
            return config, mean
        good = sorted(view.arm_at, key=outlook.mean.__getitem__)[:3]
        codec, keys = history.codec, tried(history)
        drawn = map(codec.decode, around(view.points[[best, *good]], rng, _NEAR, codec))
        near = [one for one in drawn if codec.allowed(one) and Codec.key(one) not in keys]
        if near:
            points = np.array([codec.encode(one) for one in near])
            means, deviations = view.process.forecast_points(outlook.w, outlook.scale, points)
            gains = expected_improvement(means, deviations, outlook.best)
            place = int(np.argmax(gains))
            if gains[place] > outlook.improvement[best]:
                return near[place], float(means[place])
        return config, mean


def _random(history: History, rng: np.random.Generator, first: int, why: str) -> Start | None:
    proposal = propose_new(Random(), history, rng)
    return Start(first, f"{why}, at random", proposal.config) if proposal else None


def _nothing(history: History) -> Wait | Done:
    if history.running:
        return Wait("everything that could go on is running")
    return Done("every configuration has been trained to its end")


class _Outlook:
    """What the process says now: forecasts of the end of every column, as scores."""

    def __init__(self, view: _View) -> None:
        self.losses: Array = np.array(view.losses)
        self.scores = normal_scores(self.losses)
        self.w, self.scale = view.process.explained(self.scores)
        self.mean, self.deviation = view.process.forecast(self.w, self.scale)
        self.best = float(self.scores.min())
        self.improvement = expected_improvement(self.mean, self.deviation, self.best)
        self._sign = view.sign
        self._last = view.milestones[-1]

    def in_words(self, mean: float) -> str:
        """A forecast in the user's units; scores end where the losses seen do."""
        loss = self._sign * loss_of_score(mean, self.losses, self.scores)
        return f"{loss:.4g} or better" if mean < self.best else f"{loss:.4g}"

    def told(self, view: _View, arm: Arm) -> str:
        """An arm's forecast, and the best of the others that can go on."""
        own = self.mean[view.column[arm.index]]
        text = f"arm {arm.index} has a forecast of {self.in_words(own)} at step {self._last}"
        others = [column for column in view.paused.nonzero()[0].tolist() if view.arm_at[column] is not arm]
        if others:
            rival = min(others, key=self.mean.__getitem__)
            text += f" (arm {view.arm_at[rival].index}: {self.in_words(self.mean[rival])})"
        return text


class _View:
    """A study as the process sees it, kept up to date; made anew it is the same.

    Columns of the process are the pool, then arms that are not of the pool, in the order of their first readings.
    """

    def __init__(self, history: History, options: Forecast, top: int) -> None:

        from shoestring.models.curve_process import CurveProcess

        self.sign = history.sign
        self.pool = Pool(history, options.pool)
        self.milestones = milestones(top)
        self.rungs = (*self.milestones[:-1:_RUNG], top)
        self.ranked: list[list[tuple[float, int]]] = [[] for _ in self.rungs]
        self._choices = tuple(bool(n) for n in history.codec.choices)
        self.process: CurveProcess = CurveProcess(self.pool.points, top, self._choices)
        self.points: Array = self.pool.points
        # Per column: the step its curve is at, and whether its arm is paused there and can go on.
        self.step = np.zeros(len(self.pool), dtype=np.int64)
        self.paused = np.zeros(len(self.pool), dtype=bool)
        self.column: dict[int, int] = {}
        self.arm_at: dict[int, Arm] = {}
        # The readings that the process holds: column and step, and the best loss so far there.
        self._readings: list[tuple[int, int]] = []
        self.losses: list[float] = []
        self.guarded = 0
        self._lowest: dict[int, float] = {}
        self._seen = {"readings": 0, "grants": 0, "closings": 0}

    def update(self, history: History) -> _View:
        self.pool.update(history)
        changed = set()
        for trial, step, loss in history.readings[self._seen["readings"] :]:
            if not trial.replicate:
                self._take_in(history, trial.arm, step, loss)
                changed.add(trial.arm)
        for grant in history.grants[self._seen["grants"] :]:
            changed.add(grant.arm)
            by = read_state(_By, grant.state)
            if by is not None and by.rule == "guard":
                self.guarded += grant.until - grant.start
        for trial in history.closings[self._seen["closings"] :]:
            changed.add(trial.arm)
            if trial.state != "finished":
                self._rank_last(trial.arm, trial.until)
        self._seen = {name: len(getattr(history, name)) for name in self._seen}
        for index in changed & self.column.keys():
            trial, column = trial_of(history.arms[index]), self.column[index]
            self.step[column] = trial.step
            self.paused[column] = trial.state == "paused" and trial.step < self.milestones[-1]
        return self

    def _take_in(self, history: History, index: int, step: int, loss: float) -> None:
        lowest = self._lowest[index] = min(loss, self._lowest.get(index, loss))
        if index not in self.column:
            self._begin(history, history.arms[index])
        if step not in self.milestones:
            return
        self._add(self.column[index], step, lowest)
        if step in self.rungs:
            insort(self.ranked[self.rungs.index(step)], (lowest, index))
        if len(self.losses) == _MOST_READINGS:
            self._condense()

    def _add(self, column: int, step: int, loss: float) -> None:
        self.process.add(column, step)
        self.losses.append(loss)
        self._readings.append((column, step))

    def _condense(self) -> None:
        """Half of the readings are kept, the last ones of the best arms: time and memory stay bounded."""
        last = {column: (loss, column, step) for (column, step), loss in zip(self._readings, self.losses, strict=True)}
        self.process = type(self.process)(self.points, self.milestones[-1], self._choices)
        self.losses, self._readings = [], []
        for loss, column, step in sorted(last.values())[: _MOST_READINGS // 2]:
            self._add(column, step, loss)

    def _begin(self, history: History, arm: Arm) -> None:
        place = self.pool.place(arm.config)
        if place is None:
            point = history.codec.encode(arm.config)
            place = self.process.add_column(point)
            self.points = np.vstack([self.points, point[None]])
            self.step, self.paused = np.append(self.step, 0), np.append(self.paused, False)
        self.column[arm.index], self.arm_at[place] = place, arm

    def _rank_last(self, index: int, until: int) -> None:
        """An arm that failed counts as the worst of the rung that it was on its way to."""
        level = next((i for i, rung in enumerate(self.rungs) if rung >= until), None)
        if level is not None:
            self.ranked[level].append((math.inf, index))

    def outlook(self, history: History) -> _Outlook:
        """Forecasts with what is running thought of as come out as expected."""
        with self.process.promised():
            for trial in history.running.values():
                column = self.column.get(trial.arm, self.pool.place(trial.config))
                if column is None:
                    self.process.add_outside(history.codec.encode(trial.config), trial.until)
                else:
                    self.process.add(column, trial.until)
            return _Outlook(self)

    @property
    def cost(self) -> Array:
        """Per column, the steps to its next milestone."""
        places = np.searchsorted(self.milestones, self.step, side="right")
        return np.array([*self.milestones, math.inf])[places] - self.step

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which columns can be begun or can go on."""
        mask = self.paused.copy()
        mask[: len(self.pool)] |= self.pool.free
        return mask

    def next_milestone(self, step: int) -> int:
        return next((m for m in self.milestones if m > step), self.milestones[-1])
