"""Forecast: train the configuration with the largest expected improvement at the end for the steps it costs.

A Gaussian process with parameters fitted to recorded learning curves forecasts the ends. This goes beyond the papers;
measurements are in benchmarks/RESULTS.md.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
m        milestones 1, 2, 3, 5, 8, 13, … T: a grant takes one trial to its next one
u        the best-so-far losses at milestones of all trials, as normal scores
EI       expected improvement on the best u, of a configuration's forecast at T
======== =========================================================================

The first configurations are random. Then, at every decision:

1. *End game*: the started configuration with the best forecast continues, if r ≤ T/2 or it needs all of r.
2. *Guard*: while promotions by rank (as ASHA's) have had less than their share of the steps, one more if there is one.
   It bounds the damage where the process is wrong.
3. *Model*: of all configurations that can be continued or started, the one with the largest EI per step.

Scores are recomputed from all readings at each decision, so nothing depends on the scale of the losses.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from shoestring._arrays import Array, Mask
from shoestring.core.decisions import Continue, Decision, Start, read_state
from shoestring.core.history import Arm, Cursor, History, TrialRecord
from shoestring.core.options import check_number, check_whole
from shoestring.core.untried import propose_new, tried
from shoestring.methods.learning_curves import (
    Pool,
    expected_improvement,
    format_steps,
    loss_of_score,
    nothing_left,
    remaining_steps,
    steps_are_free,
)
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import normal_scores
from shoestring.models.threads import one_thread
from shoestring.samplers import Random
from shoestring.samplers.candidates import around
from shoestring.schedulers.rungs import top_resource
from shoestring.spaces.codec import Codec, Config

# Promotions by rank compare trials at every second milestone: 1, 3, 8, 21, … is nearly a factor of 3.
_RUNG = 2
# The process holds at most this many readings; beyond, half are kept: the last ones of the best trials.
_MOST_READINGS = 2000
# Before a configuration is started, it is compared with this many neighbours of it and of the best started ones.
_NEIGHBOURS = 48


@lru_cache
def milestones(last: int) -> tuple[int, ...]:
    """Where trials pause: the Fibonacci numbers up to the last step.

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
class DecidedBy:
    """The state of a grant: which rule decided it, "end game", "guard" or "model"."""

    rule: str


@dataclass(frozen=True)
class Forecast:
    """Spend the budget where the forecast of the end improves most per step.

    The first ``startup`` configurations are random. Later ones come from a ``pool`` of so many configurations (all of
    a smaller space; rows of a table), and from the neighbourhood of good ones. ``guard`` is the share of the steps
    that goes to promotions by rank; these promote the best 1/``eta`` of each rung.
    """

    startup: int = 10
    pool: int = 2000
    guard: float = 1 / 3
    eta: float = 3
    reference: ClassVar[str] = (
        "Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014, for forecasting learning curves; "
        "the process and the rule are shoestring's own"
    )

    def __post_init__(self) -> None:
        check_whole(self, startup=1, pool=1)
        check_number(self, "guard", "a share of the steps, between 0 and 1", 0, 1, "[]")
        check_number(self, "eta", "a number above 1: the best 1/eta are promoted", 1, ends="()")

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        """Random configurations first: they need neither the pool nor the process, so the first ask is quick."""
        top = top_resource(history, "forecast")
        first = top if steps_are_free(history) else 1
        informed = any(step in milestones(top) and not trial.replicate for trial, step, _ in history.readings)
        if len(history.arms) < self.startup or not informed:
            start = _random(history, rng, first, f"one of the first {self.startup} configurations")
            if start is not None:
                return start
        if not informed:
            return nothing_left(history)
        return self._decide_by_model(history, rng, top, first)

    @one_thread()
    def _decide_by_model(self, history: History, rng: np.random.Generator, top: int, first: int) -> Decision:
        state = history.cached(("forecast", self), lambda: _State(history, self, top))
        state.update(history)
        forecasts = state.forecasts(history)
        return (
            self._end_game(state, forecasts, remaining_steps(history), top)
            or self._promotion(state, history)
            or self._most_improvement(state, forecasts, history, rng, first)
        )

    def _end_game(self, state: _State, forecasts: _Forecasts, left: float, top: int) -> Continue | None:
        """(1) Little is left: the configuration with the best forecast continues."""
        if not state.paused.any() or left == math.inf:
            return None
        column = int(np.argmin(np.where(state.paused, forecasts.mean, np.inf)))
        if left > top / 2 and left > top - state.step[column]:
            return None
        reason = f"{format_steps(left)} left and {forecasts.describe(column)}, the best of all paused trials"
        return state.advance(column, reason, "end game")

    def _promotion(self, state: _State, history: History) -> Continue | None:
        """(2) The best paused trial in the top 1/eta of its rung, the highest rung first."""
        if state.guarded >= self.guard * history.ledger.steps:
            return None
        for level in range(len(state.rungs) - 2, -1, -1):
            ranked = state.ranked[level]
            for place, (_, index) in enumerate(ranked[: int(len(ranked) / self.eta)]):
                trial = history.arms[index].trials[0]
                if trial.state == "paused" and trial.step < state.rungs[level + 1]:
                    reason = f"ranked {place + 1} of the {len(ranked)} trials that reached step {state.rungs[level]}"
                    return state.advance(state.column[index], reason, "guard")
        return None

    def _most_improvement(
        self, state: _State, forecasts: _Forecasts, history: History, rng: np.random.Generator, first: int
    ) -> Decision:
        """(3) The largest expected improvement at T per step to the next milestone."""
        gain = np.where(state.trainable, forecasts.improvement / state.cost, -1.0)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            return _random(history, rng, first, "the pool is used up: a new configuration") or nothing_left(history)
        if best in state.arm_at:
            reason = f"{forecasts.describe(best)}, the largest expected improvement per step"
            return state.advance(best, reason, "model")
        config, mean = self._refined(state, forecasts, history, rng, best)
        end = forecasts.in_users_units(mean)
        reason = f"a new configuration with a forecast of {end} has the largest expected improvement per step"
        return Start(first, reason, config, state=DecidedBy("model"))

    def _refined(
        self, state: _State, forecasts: _Forecasts, history: History, rng: np.random.Generator, best: int
    ) -> tuple[Config, float]:
        """The best new configuration of the pool or, if better, a neighbour of it or of a good started one."""
        config, mean = state.pool.config(best), float(forecasts.mean[best])
        if _is_whole_space(history.codec, state.pool, self.pool):
            return config, mean
        good = sorted(state.arm_at, key=forecasts.mean.__getitem__)[:3]
        codec, keys = history.codec, tried(history)
        drawn = map(codec.decode, around(state.points[[best, *good]], rng, _NEIGHBOURS, codec))
        near = [one for one in drawn if codec.allowed(one) and Codec.key(one) not in keys]
        if near:
            points = np.array([codec.encode(one) for one in near])
            means, deviations = state.process.forecast_points(forecasts.w, forecasts.scale, points)
            gains = expected_improvement(means, deviations, forecasts.best)
            place = int(np.argmax(gains))
            if gains[place] > forecasts.improvement[best]:
                return near[place], float(means[place])
        return config, mean


def _random(history: History, rng: np.random.Generator, first: int, why: str) -> Start | None:
    proposal = propose_new(Random(), history, rng)
    return Start(first, f"{why}, drawn at random", proposal.config) if proposal else None


def _is_whole_space(codec: Codec, pool: Pool, size: int) -> bool:
    """Whether the pool leaves nothing out, so that there are no neighbours to add; rows of a table have none."""
    return codec.rows is not None or (codec.finite and len(pool) < size)


class _Forecasts:
    """The forecasts at one decision: the end of every column, as scores."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self.losses: Array = np.array(state.losses)
        self.scores = normal_scores(self.losses)
        self.w, self.scale = state.process.whiten(self.scores)
        self.mean, self.deviation = state.process.forecast(self.w, self.scale)
        self.best = float(self.scores.min())
        self.improvement = expected_improvement(self.mean, self.deviation, self.best)

    def in_users_units(self, mean: float) -> str:
        """A forecast as a reading; scores reach no further than the observed losses."""
        loss = self._state.sign * loss_of_score(mean, self.losses, self.scores)
        return f"{loss:.4g} or better" if mean < self.best else f"{loss:.4g}"

    def describe(self, column: int) -> str:
        """The forecast of a started configuration, and the best one of the other paused trials."""
        state, end = self._state, self.in_users_units(self.mean[column])
        text = f"trial {state.trial(column).index} has a forecast of {end} at step {state.milestones[-1]}"
        others = [other for other in state.paused.nonzero()[0].tolist() if other != column]
        if others:
            rival = min(others, key=self.mean.__getitem__)
            text += f" (trial {state.trial(rival).index}: {self.in_users_units(self.mean[rival])})"
        return text


class _State:
    """The readings of a study as the process needs them, updated incrementally; rebuilt, it is the same.

    Columns of the process are the pool, then arms that are not in the pool, in the order of their first readings. Of
    an arm's trials only the first is followed.
    """

    def __init__(self, history: History, options: Forecast, top: int) -> None:
        self.sign = history.sign
        self.pool = Pool(history, options.pool)
        self.milestones = milestones(top)
        self.rungs = (*self.milestones[:-1:_RUNG], top)
        self.ranked: list[list[tuple[float, int]]] = [[] for _ in self.rungs]
        self._choices = tuple(bool(n) for n in history.codec.choices)
        self.process = CurveProcess(self.pool.points, top, self._choices)
        self.points: Array = self.pool.points
        # Per column: the step its curve is at, and whether its trial is paused there and can continue.
        self.step = np.zeros(len(self.pool), dtype=np.int64)
        self.paused = np.zeros(len(self.pool), dtype=bool)
        self.column: dict[int, int] = {}
        self.arm_at: dict[int, Arm] = {}
        # The readings in the process: column and step, and the best loss so far there.
        self._places: list[tuple[int, int]] = []
        self.losses: list[float] = []
        self.guarded = 0
        self._lowest: dict[int, float] = {}
        self._readings, self._grants, self._closings = Cursor(), Cursor(), Cursor()

    def update(self, history: History) -> None:
        self.pool.update(history)
        changed = set()
        for trial, step, loss in self._readings.new(history.readings):
            if not trial.replicate:
                self._take_in(history, trial.arm, step, loss)
                changed.add(trial.arm)
        for grant in self._grants.new(history.grants):
            changed.add(grant.arm)
            decided = read_state(DecidedBy, grant.state)
            if decided is not None and decided.rule == "guard":
                self.guarded += grant.until - grant.start
        for trial in self._closings.new(history.closings):
            changed.add(trial.arm)
            if trial.state != "finished":
                self._rank_last(trial.arm, trial.until)
        for index in changed & self.column.keys():
            trial, column = history.arms[index].trials[0], self.column[index]
            self.step[column] = trial.step
            self.paused[column] = trial.state == "paused" and trial.step < self.milestones[-1]

    def _take_in(self, history: History, index: int, step: int, loss: float) -> None:
        lowest = self._lowest[index] = min(loss, self._lowest.get(index, loss))
        if index not in self.column:
            self._add_arm(history, history.arms[index])
        if step not in self.milestones:
            return
        self._add_reading(self.column[index], step, lowest)
        if step in self.rungs:
            insort(self.ranked[self.rungs.index(step)], (lowest, index))
        if len(self.losses) == _MOST_READINGS:
            self._condense()

    def _add_arm(self, history: History, arm: Arm) -> None:
        column = self.pool.index(arm.config)
        if column is None:
            point = history.codec.encode(arm.config)
            column = self.process.add_column(point)
            self.points = np.vstack([self.points, point[None]])
            self.step, self.paused = np.append(self.step, 0), np.append(self.paused, False)
        self.column[arm.index], self.arm_at[column] = column, arm

    def _add_reading(self, column: int, step: int, loss: float) -> None:
        self.process.add(column, step)
        self.losses.append(loss)
        self._places.append((column, step))

    def _condense(self) -> None:
        """Keep half of the readings, the last ones of the best trials, so that time and memory stay bounded."""
        last = {column: (loss, column, step) for (column, step), loss in zip(self._places, self.losses, strict=True)}
        self.process = CurveProcess(self.points, self.milestones[-1], self._choices)
        self.losses, self._places = [], []
        for loss, column, step in sorted(last.values())[: _MOST_READINGS // 2]:
            self._add_reading(column, step, loss)

    def _rank_last(self, index: int, until: int) -> None:
        """A failed trial is ranked last on the rung of its last grant."""
        level = next((i for i, rung in enumerate(self.rungs) if rung >= until), None)
        if level is not None:
            self.ranked[level].append((math.inf, index))

    def forecasts(self, history: History) -> _Forecasts:
        """Forecasts with running trials imputed with the posterior mean."""
        with self.process.provisional():
            for trial in history.running.values():
                column = self.column.get(trial.arm, self.pool.index(trial.config))
                if column is None:
                    self.process.add_outside(history.codec.encode(trial.config), trial.until)
                else:
                    self.process.add(column, trial.until)
            return _Forecasts(self)

    @property
    def cost(self) -> Array:
        """Per column, the steps to its next milestone."""
        places = np.searchsorted(self.milestones, self.step, side="right")
        return np.array([*self.milestones, math.inf])[places] - self.step

    @property
    def trainable(self) -> Mask:
        """Which columns can be started or continued."""
        mask = self.paused.copy()
        mask[: len(self.pool)] |= self.pool.untried
        return mask

    def trial(self, column: int) -> TrialRecord:
        return self.arm_at[column].trials[0]

    def advance(self, column: int, reason: str, rule: str) -> Continue:
        """Continue a trial to its next milestone."""
        trial = self.trial(column)
        until = next((m for m in self.milestones if m > trial.step), self.milestones[-1])
        return Continue(trial.index, until, reason, state=DecidedBy(rule))
