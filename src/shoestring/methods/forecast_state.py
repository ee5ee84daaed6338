"""What forecast knows of a study: the readings as its process needs them, failures, prices, and the forecasts.

All of it is updated by what is new in the history and is the same when it is rebuilt from the log.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.decisions import Continue, read_state
from shoestring.core.history import Arm, Cursor, History, TrialRecord
from shoestring.methods.learning_curves import Pool, expected_improvement, loss_of_score
from shoestring.models.curve_process import CurveProcess
from shoestring.models.linear import linear, logistic_regression, probability, ridge_regression
from shoestring.models.scores import normal_scores, rank_correlation
from shoestring.samplers.candidates import embedding

# Promotions by rank compare trials at every second milestone: 1, 3, 8, 21, … is nearly a factor of 3.
_RUNG = 2
# The process holds at most this many readings; beyond, half are kept: the last ones of the best trials. Of the failed
# trials at most an eighth is kept: they say where not to look.
_MOST_READINGS = 2000
# The penalty of the regressions, and the least weight of a trial that has not failed yet.
_RIDGE, _LEAST_WEIGHT = 0.1, 0.1
_FAILED = ("failed", "lost")
# Configurations that are more likely to fail than this are neither promoted by rank nor finished.
MOST_RISK = 0.3
# So many trials say something about prices, or about whether early readings mislead.
_ENOUGH = 8


@lru_cache
def milestones(last: int) -> tuple[int, ...]:
    """Where trials pause: the Fibonacci numbers up to the last step.

    >>> from shoestring.methods.forecast_state import milestones
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
    """The state of a grant: the rule that decided it, "end game", "guard" or "model".

    ``parent`` is the configuration that a new one was drawn near; -1 if there is none.
    """

    rule: str
    parent: int = -1


class ForecastState:
    """The readings of a study as the process needs them.

    Columns of the process are the pool, then arms that are not in the pool, in the order of their first readings. Of
    an arm's trials only the first is followed.
    """

    def __init__(self, history: History, pool: int, top: int) -> None:
        codec = history.codec
        self.sign = history.sign
        self.pool = Pool(history, pool)
        self.milestones = milestones(top)
        self.rungs = (*self.milestones[:-1:_RUNG], top)
        self.ranked: list[list[tuple[float, int]]] = [[] for _ in self.rungs]
        self._choices = tuple(bool(n) for n in codec.choices)
        self._is_table = codec.rows is not None
        self.process = CurveProcess(self.pool.points, top, self._choices, self._is_table)
        self.points: Array = self.pool.points
        # Per column: the step its curve is at, and whether its trial is paused there and can continue.
        self.step = np.zeros(len(self.pool), dtype=np.int64)
        self.paused = np.zeros(len(self.pool), dtype=bool)
        self.column: dict[int, int] = {}
        self.arm_at: dict[int, Arm] = {}
        # The readings in the process: column and step, and the best loss so far there.
        self._places: list[tuple[int, int]] = []
        self.losses: list[float] = []
        self.failures = Failures(history)
        # Per arm, the best loss so far at each milestone.
        self.curves: dict[int, dict[int, float]] = {}
        self.neighbours = Neighbours(self.curves)
        # Steps granted by the guard, and configurations started by the model.
        self.guarded = self.started = 0
        self._lowest: dict[int, float] = {}
        self._readings, self._grants, self._closings = Cursor(), Cursor(), Cursor()

    def update(self, history: History) -> None:
        self.pool.update(history)
        changed = set()
        for grant in self._grants.new(history.grants):
            changed.add(grant.arm)
            decided = read_state(DecidedBy, grant.state)
            if decided is not None and decided.rule == "guard":
                self.guarded += grant.until - grant.start
            if decided is not None and decided.rule == "model" and grant.config is not None:
                self.started += 1
            if decided is not None and decided.parent >= 0:
                self.neighbours.parent[grant.arm] = decided.parent
        readings = self._readings.new(history.readings)
        closings = self._closings.new(history.closings)
        for place, (trial, step, loss) in enumerate(readings, len(history.readings) - len(readings)):
            # In the order of the log, so that a rebuilt state has the same columns.
            while closings and closings[0].closed_after <= place:
                changed.add(self._take_in_closing(history, closings.pop(0)))
            if not trial.replicate:
                self._take_in(history, trial.arm, step, loss)
                changed.add(trial.arm)
        changed |= {self._take_in_closing(history, trial) for trial in closings}
        changed |= {child for child, parent in self.neighbours.parent.items() if parent in changed}
        for index in changed & self.column.keys():
            trial, column = history.arms[index].trials[0], self.column[index]
            self.step[column] = trial.step
            self.paused[column] = (
                trial.state == "paused" and trial.step < self.milestones[-1] and not self.neighbours.behind(index)
            )
            self.failures.living[column] = trial.state not in _FAILED

    def _take_in(self, history: History, index: int, step: int, loss: float) -> None:
        lowest = self._lowest[index] = min(loss, self._lowest.get(index, loss))
        self._add_arm(history, history.arms[index])
        if step not in self.milestones:
            return
        self.curves.setdefault(index, {})[step] = lowest
        self._add_reading(self.column[index], step, lowest)
        if step in self.rungs:
            insort(self.ranked[self.rungs.index(step)], (lowest, index))

    def _take_in_closing(self, history: History, trial: TrialRecord) -> int:
        """A failed trial ranks last on the rung of its last grant; one without readings has an infinite first loss.

        Were a late failure a reading too, the process would shun good regions: what is trained for longer fails more
        often. The regression of failures learns from both.
        """
        if trial.state not in _FAILED or trial.replicate:
            return trial.arm
        self._add_arm(history, history.arms[trial.arm])
        self.curves.pop(trial.arm, None)
        if not trial.step:
            self._add_reading(self.column[trial.arm], 1, math.inf)
        self.failures.steps.append(trial.step + 1)
        level = next((i for i, rung in enumerate(self.rungs) if rung >= trial.until), None)
        if level is not None:
            self.ranked[level].append((math.inf, trial.arm))
        return trial.arm

    def _add_arm(self, history: History, arm: Arm) -> None:
        if arm.index in self.column:
            return
        column = self.pool.index(arm.config)
        if column is None:
            point = history.codec.encode(arm.config)
            column = self.process.add_column(point)
            self.points = np.vstack([self.points, point[None]])
            self.step, self.paused = np.append(self.step, 0), np.append(self.paused, False)
        self.column[arm.index], self.arm_at[column] = column, arm

    def _add_reading(self, column: int, step: int, loss: float) -> None:
        if len(self.losses) == _MOST_READINGS:
            self._condense()
        self.process.add(column, step)
        self.losses.append(loss)
        self._places.append((column, step))

    def _condense(self) -> None:
        """Keep half of the readings, the last ones of the best trials, so that time and memory stay bounded."""
        last = {column: (loss, column, step) for (column, step), loss in zip(self._places, self.losses, strict=True)}
        ordered = sorted(last.values())
        failed = [reading for reading in ordered if reading[0] == math.inf][-_MOST_READINGS // 8 :]
        living = [reading for reading in ordered if reading[0] < math.inf][: _MOST_READINGS // 2 - len(failed)]
        self.process = CurveProcess(self.points, self.milestones[-1], self._choices, self._is_table)
        self.losses, self._places = [], []
        for loss, column, step in living + failed:
            self._add_reading(column, step, loss)

    @contextmanager
    def forecasts(self, history: History) -> Iterator[Forecasts]:
        """Forecasts with running trials imputed with the posterior mean, inside the block."""
        with self.process.provisional():
            for trial in history.running.values():
                column = self.column.get(trial.arm, self.pool.index(trial.config))
                if column is None:
                    self.process.add_outside(history.codec.encode(trial.config), trial.until)
                else:
                    self.process.add(column, trial.until)
            yield Forecasts(self)

    def price(self, history: History) -> Array:
        """Per column, what its next milestone costs: steps, or relative amounts of the unit that limits the budget."""
        places = np.searchsorted(self.milestones, self.step, side="right")
        steps = np.array([*self.milestones, math.inf])[places] - self.step
        return np.asarray(steps * step_prices(self, history))

    def early_readings_mislead(self) -> bool:
        """Whether the trials that went on are not in the order of their start, at the last milestone of enough."""
        for milestone in self.milestones[:0:-1]:
            went_on = [curve for curve in self.curves.values() if milestone in curve]
            pairs = [(curve[1], curve[milestone]) for curve in went_on if 1 in curve]
            if len(pairs) >= _ENOUGH:
                return rank_correlation(np.array(pairs)) <= 0
        return False

    @property
    def columns(self) -> Codes:
        """Per reading in the process, its column."""
        return np.array([column for column, _ in self._places])

    @property
    def trainable(self) -> Mask:
        """Which columns can be started or continued."""
        mask = self.paused.copy()
        mask[: len(self.pool)] |= self.pool.untried
        return mask

    def parents(self, forecasts: Forecasts) -> list[int]:
        """The configurations with the best forecasts that have not failed."""
        alive = [column for column, arm in self.arm_at.items() if arm.trials[0].state not in _FAILED]
        return [self.arm_at[column].index for column in sorted(alive, key=forecasts.mean.__getitem__)[:3]]

    def trial(self, column: int) -> TrialRecord:
        return self.arm_at[column].trials[0]

    def advance(self, column: int, reason: str, rule: str) -> Continue:
        """Continue a trial to its next milestone."""
        trial = self.trial(column)
        until = next((m for m in self.milestones if m > trial.step), self.milestones[-1])
        return Continue(trial.index, until, reason, state=DecidedBy(rule))


class Failures:
    """How likely a configuration is to fail at a later step: a logistic regression, once something has failed.

    A failed configuration has weight 1, a living one the share of the observed failures that it has outlived.
    """

    def __init__(self, history: History) -> None:
        self._embed = embedding(history)
        self.steps: list[int] = []
        self.living: dict[int, bool] = {}

    def model(self, state: ForecastState) -> Array | None:
        """The coefficients of the regression; None while nothing has failed."""
        if not self.steps:
            return None
        columns = np.array(sorted(self.living))
        alive = np.array([self.living[column] for column in columns])
        outlived = 1 - self.ahead(state.step[columns])
        weights = np.where(alive, np.maximum(outlived, _LEAST_WEIGHT), 1.0)
        return logistic_regression(self._embed(state.points[columns]), 1.0 - alive, weights, _RIDGE)

    def ahead(self, step: Any) -> Array:
        """The share of the observed failures that came after a step."""
        return np.asarray(1 - np.searchsorted(np.sort(self.steps), step, side="right") / len(self.steps))

    def risk(self, model: Array | None, points: Array, step: Any) -> Array:
        """The probability that a configuration at a step will fail later. Shape (m,)."""
        if model is None:
            return np.zeros(len(points))
        return np.asarray(probability(model, self._embed(points)) * self.ahead(step))


def shares_left(history: History) -> dict[str, float]:
    """Per unit of the budget, the share that is left."""
    return {unit: history.ledger.free(unit) / limit for unit, limit in history.ledger.budget.limits().items()}


def scarcest(history: History) -> str:
    """The unit of the budget of which the smallest share is left, "steps" unless it is cost or seconds."""
    shares = shares_left(history)
    unit = min(shares, key=shares.__getitem__)
    return unit if unit in ("cost", "seconds") else "steps"


def step_prices(state: ForecastState, history: History) -> Array:
    """Per column, the price of a step: measured where the configuration was started, else by a log-linear model.

    Sizes, depths and batch sizes multiply what a step costs. The model is kept within the observed prices.
    """
    known = _measured_prices(state, history)
    if len(known) < _ENOUGH:
        return np.ones(len(state.points))
    columns, logs, embed = np.array(list(known)), np.log(list(known.values())), embedding(history)
    beta = ridge_regression(embed(state.points[columns]), logs, _RIDGE)
    prices = np.exp(np.clip(linear(beta, embed(state.points)), logs.min(), logs.max()))
    prices[columns] = np.exp(logs)
    return prices


def price_range(state: ForecastState, history: History) -> str:
    """How far the prices of steps are apart, in words; empty if they are alike."""
    prices = _measured_prices(state, history).values()
    low, high = min(prices, default=1.0), max(prices, default=1.0)
    return f" (a step took {low:.3g} to {high:.3g})" if high >= 5 * low else ""


def _measured_prices(state: ForecastState, history: History) -> dict[int, float]:
    """By column, what a step of each started configuration has cost; nothing if steps limit the budget."""
    unit = scarcest(history)
    if unit == "steps":
        return {}
    trials = {column: arm.trials[0] for column, arm in state.arm_at.items() if arm.trials[0].step}
    prices = {column: _total(trial, unit) / trial.step for column, trial in trials.items()}
    return {column: price for column, price in prices.items() if price > 0}


def _total(trial: TrialRecord, unit: str) -> float:
    return trial.seconds if unit == "seconds" else sum(reading.cost or 0.0 for reading in trial.readings.values())


class Neighbours:
    """The configurations that were drawn near a good one, their parent, and whether they are better than that so far.

    The two are compared at the last milestone that both reached. A neighbour that is behind is not continued: while
    its parent is ahead, nothing can be learned from a near copy that trails it.
    """

    def __init__(self, curves: dict[int, dict[int, float]]) -> None:
        self.parent: dict[int, int] = {}
        self._curves = curves

    def behind(self, index: int) -> bool:
        """Whether a configuration is a neighbour that is not better than its parent."""
        parent = self._curves.get(self.parent.get(index, -1), {})
        own = self._curves.get(index, {})
        common = parent.keys() & own.keys()
        return bool(common) and not own[max(common)] < parent[max(common)]

    def pay(self, started: int) -> bool:
        """Whether neighbours have had less than their share of the configurations that were chosen by the model.

        The share is that of the neighbours which are better than their parents, a third before there are any.
        """
        known = [index for index in self.parent if index in self._curves]
        better = sum(not self.behind(index) for index in known)
        return len(self.parent) < (better + 1) / (len(known) + 3) * (started + 1)


class Forecasts:
    """The forecasts at one decision: the end of every column, as scores."""

    def __init__(self, state: ForecastState) -> None:
        self._state = state
        self.losses: Array = np.array(state.losses)
        self.scores = normal_scores(self.losses)
        self.w, self.scale = state.process.whiten(self.scores)
        self.mean, self.deviation = state.process.forecast(self.w, self.scale)
        self._failure_model = state.failures.model(state)
        self.risk = state.failures.risk(self._failure_model, state.points, state.step)
        self.best = float(self.scores[self._attainable()].min())
        self.improvement = expected_improvement(self.mean, self.deviation, self.best) * (1 - self.risk)

    def _attainable(self) -> Mask:
        """The readings to improve on: those of failed and of risky trials may be out of reach of all others."""
        columns = self._state.columns
        failed = np.array([not self._state.failures.living[column] for column in columns.tolist()])
        attainable = ~failed & (self.risk[columns] <= MOST_RISK)
        return attainable if attainable.any() else np.ones(len(columns), dtype=bool)

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and expected improvement of new configurations."""
        state = self._state
        mean, deviation = state.process.forecast_points(self.w, self.scale, points)
        risk = state.failures.risk(self._failure_model, points, np.zeros(len(points)))
        return mean, expected_improvement(mean, deviation, self.best) * (1 - risk)

    def in_users_units(self, mean: float) -> str:
        """A forecast as a reading; scores reach no further than the observed losses."""
        finite = np.isfinite(self.losses)
        loss = self._state.sign * loss_of_score(mean, self.losses[finite], self.scores[finite])
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
