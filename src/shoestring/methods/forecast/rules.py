"""The method and its rules: what is decided, in which order, and the words for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from shoestring.core.decisions import Continue, Decision, Start, Wait
from shoestring.core.history import History, TrialRecord
from shoestring.core.options import check_choices, check_number, check_whole
from shoestring.core.planned import next_given
from shoestring.core.weighing import Judges
from shoestring.methods.curve_beliefs import CurveBelief
from shoestring.methods.forecast.failures import failures_in_words
from shoestring.methods.forecast.forecasts import Forecasts
from shoestring.methods.forecast.milestones import (
    count_first,
    first_step,
    first_step_compared,
    is_long,
    milestones,
    next_milestone,
)
from shoestring.methods.forecast.prices import (
    measured_prices,
    prices_in_words,
    scarcest,
    shares_left,
    step_prices,
    steps_to_buy,
)
from shoestring.methods.forecast.proposals import best_new, is_all_there_is, random_start
from shoestring.methods.forecast.search import by_second_process, has_its_turn
from shoestring.methods.forecast.state import DecidedBy, ForecastState
from shoestring.methods.forecast.trust import EarlyOrders, Trusted
from shoestring.methods.forecast.whole import whole_training
from shoestring.methods.learning_curves import format_steps, nothing_left, remaining_steps, steps_are_free
from shoestring.models.threads import one_thread
from shoestring.schedulers.rungs import top_resource

# The end game is in the last quarter of the budget.
_END_GAME = 0.25
# For every running trial, this share of a full training is left; with less, workers wait.
_LEFT_PER_TRIAL = 0.5
_SINGULAR = {"steps": "step", "seconds": "second", "cost": "unit of cost"}


@dataclass(frozen=True)
class Forecast:
    """Spend the budget where the forecast of the end improves most per step.

    The first ``startup`` configurations are random, besides those of a plan where the budget has room for both. Later
    ones come from a ``pool`` of this many configurations (all of a smaller space; rows of a table), and from the
    neighbourhood of good ones. ``guard`` is the share of the steps that goes to promotions by rank; these promote the
    best 1/``eta`` of each rung. With ``trust`` "learned", readings before the first milestone whose order predicts
    later ones are not used; "blind" is for comparison. Of the new configurations, a share of up to ``by_gp`` is
    proposed by a second process, which is fitted to forecast ends. In a budget of 20 full trainings or more, at least
    the share ``whole`` of the steps goes to trainings from the first to the last step, chosen by the ends alone, and
    half of those after ten trainings. With ``prices`` "alike" steps count alike whatever they take or cost; with
    "average", later steps of a trial count like its first ones. Both are for comparison. With ``feasibility``
    "modelled" the expected improvement is multiplied by the probability of fulfilling the constraints at the end;
    once some reading is feasible, what has a probability below 5 % is neither promoted by rank nor continued in the
    end game, where what is below 50 % comes last. With "worse loss" a violation is only seen as a loss worse than all
    feasible ones.
    """

    startup: int = 10
    pool: int = 2000
    guard: float = 1 / 3
    eta: float = 3
    trust: Literal["learned", "blind"] = field(default="learned", metadata={"before": "blind"})
    by_gp: float = field(default=0.5, metadata={"before": 0.0})
    whole: float = field(default=0.2, metadata={"before": 0.0})
    prices: Literal["measured", "average", "alike"] = field(default="measured", metadata={"before": "average"})
    feasibility: Literal["modelled", "worse loss"] = field(default="modelled", metadata={"before": "worse loss"})
    judges: ClassVar[Judges] = "weighted"
    reference: ClassVar[str] = (
        "Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014, for forecasting learning curves; "
        "the process and the rule are shoestring's own"
    )

    def __post_init__(self) -> None:
        check_choices(self)
        check_whole(self, startup=1, pool=1)
        check_number(self, "guard", "a share of the steps, between 0 and 1", 0, 1, "[]")
        check_number(self, "by_gp", "a share of the new configurations, between 0 and 1", 0, 1, "[]")
        check_number(self, "whole", "a share of the steps, between 0 and 1", 0, 1, "[]")
        check_number(self, "eta", "a number above 1: the best 1/eta are promoted", 1, ends="()")

    @property
    def models_constraints(self) -> bool:
        return self.feasibility == "modelled"

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        """Random configurations first: they need neither the pool nor the process, so the first ask is quick."""
        last = top_resource(history, "forecast")
        if _is_crowded(history, last):
            return Wait("little is left, and what is running decides what it is spent on")
        startup = min(self.startup, (history.ledger.budget.evaluations or math.inf) / 2)
        trusted = self._trusted(history, last)
        first = first_step(history, last, startup, trusted.step)
        given = next_given(history)
        if given is not None:
            first = first_step_compared(history, last, trusted.step) if given.first else first
            return Start(first, given.reason, given.config, given.explanation)
        informed = any(
            step in milestones(last, trusted.step) and not trial.replicate for trial, step, _ in history.readings
        )
        if count_first(history, startup) < startup or not informed:
            why = f"one of the first {math.ceil(startup)} configurations"
            start = random_start(history, rng, first, why)
            if start is not None or not informed:
                return start or nothing_left(history)
        return trusted.explained(self._decide_by_model(history, rng, first))

    @one_thread()
    def _decide_by_model(self, history: History, rng: np.random.Generator, first: int) -> Decision:
        state = self._state(history)
        forecasts = state.forecasts(history)
        return (
            whole_training(history, rng, state, self.whole)
            or _end_game(state, forecasts, history)
            or self._promotion(state, forecasts, history)
            or self._most_improvement(state, forecasts, history, rng, first)
        )

    def _state(self, history: History) -> ForecastState:
        last = top_resource(history, "forecast")
        trusted = self._trusted(history, last)
        state = history.cached(
            ("forecast", self, trusted.step), lambda: ForecastState(history, self.pool, last, trusted.step)
        )
        state.update(history)
        return state

    def _trusted(self, history: History, last: int) -> Trusted:
        if self.trust == "blind":
            return Trusted()
        orders = history.cached(("early orders", last), lambda: EarlyOrders(last))
        orders.update(history)
        return orders.trusted

    @one_thread()
    def belief(self, history: History, trials: Sequence[TrialRecord]) -> list[CurveBelief]:
        """The forecasts of the best loss so far of these trials, at their next milestones."""
        state = self._state(history)
        if not np.isfinite(state.readings.losses).any():
            return [CurveBelief() for _ in trials]
        forecasts = state.forecasts_of_readings()
        return [_belief(state, forecasts, trial) for trial in trials]

    def _promotion(self, state: ForecastState, forecasts: Forecasts, history: History) -> Continue | None:
        """(2) The best paused trial in the top 1/eta of its rung, the highest rung first."""
        if state.granted.steps["guard"] >= self.guard * history.ledger.steps:
            return None
        safe, column_of = forecasts.safe, state.columns.of_arm

        def ranks(arm: int) -> bool:
            return bool(safe[column_of[arm]]) and not state.repeats(arm)

        def waits_before(arm: int, step: int) -> bool:
            trial = history.arms[arm].trials[0]
            return trial.state == "paused" and trial.step < step

        missed_by = None if state.constrained is None else state.constrained.missed_by
        found = state.rungs.promotion(self.eta, ranks, waits_before, missed_by)
        if found is None:
            return None
        reason = f"ranked {found.place} of the {found.among} trials that reached step {found.step}{history.weighed}"
        return _advance(state, column_of[found.arm], reason, "guard")

    def _most_improvement(
        self, state: ForecastState, forecasts: Forecasts, history: History, rng: np.random.Generator, first: int
    ) -> Decision:
        """(3) The largest expected improvement at T per step to the next milestone."""
        columns, unit = state.columns, scarcest(history)
        measured = measured_prices(columns.trials, "steps" if self.prices == "alike" else unit)
        per_evaluation = remaining_steps(history) / max(history.ledger.free("evaluations"), 1)
        steps = steps_to_buy(columns, state.last, state.first, per_evaluation)
        price = steps * step_prices(measured, columns, steps, state.embed, self.prices == "measured")
        gain = np.where(columns.trainable, forecasts.improvement / price, -1.0)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            new = random_start(history, rng, first, "the pool is used up: a new configuration")
            return new or _repetition(state) or nothing_left(history)
        per = f"the largest {forecasts.goal} per {_SINGULAR[unit]}{prices_in_words(measured)}{history.weighed}"
        per += failures_in_words(state.failed_at, len(columns.arm_at))
        if best in columns.arm_at:
            return _advance(state, best, f"{_describe(state, forecasts, history.sign, best)}, {per}", "model")
        between = not is_all_there_is(columns.pool, self.pool, history.codec)
        turn = between and has_its_turn(state, forecasts, self.by_gp)
        proposed = by_second_process(history, rng, state, forecasts) if turn else None
        draw_near = between and state.neighbours.within_quota(state.granted.started["model"])
        chosen = proposed or best_new(history, rng, columns, forecasts, best, draw_near)
        near = f" near configuration {chosen.parent}" if chosen.parent >= 0 else ""
        end = _in_users_units(forecasts, history.sign, chosen.mean)
        why = f"has {per}"
        if proposed is not None:
            first = first_step_compared(history, state.last, state.first) if is_long(history, state.last) else first
            why = f"is the best by a Gaussian process of forecast ends{history.weighed}"
        reason = f"a new configuration{near} with a forecast of {end} {why}"
        rule = "model" if proposed is None else "gp"
        return Start(first, reason, chosen.config, state=DecidedBy(rule, chosen.parent))


def _is_crowded(history: History, last: int) -> bool:
    """Return whether so much is running for what is left of the budget that workers wait.

    A training goes on from milestone to milestone, so what many workers spend meanwhile is not there for its end.
    """
    left, running = remaining_steps(history), len(history.running)
    return bool(running) and not steps_are_free(history) and left < running * _LEFT_PER_TRIAL * last


def _end_game(state: ForecastState, forecasts: Forecasts, history: History) -> Continue | None:
    """(1) Little is left: the configuration with the best forecast continues."""
    column, left = _best_paused(state, forecasts), remaining_steps(history)
    if column is None or left == math.inf or min(shares_left(history).values()) > _END_GAME:
        return None
    if left > state.last / 2 and left > state.last - state.columns.step[column]:
        return None
    described = _describe(state, forecasts, history.sign, column)
    return _advance(
        state,
        column,
        f"{format_steps(left)} left and {described}, the best of all paused trials{history.weighed}",
        "end game",
    )


def _best_paused(state: ForecastState, forecasts: Forecasts) -> int | None:
    """The column of the paused trial with the best forecast that is not likely to fail."""
    safe = state.columns.paused & forecasts.safe
    return int(np.argmin(np.where(safe, forecasts.order, np.inf))) if safe.any() else None


def _repetition(state: ForecastState) -> Continue | None:
    """Continue a configuration that repeats another one, where nothing else is left."""
    trials = state.columns.trials.items()
    waiting = (column for column, trial in trials if trial.state == "paused" and trial.step < state.last)
    column = next(waiting, None)
    reason = "nothing else is left, so that a configuration with the readings of another one continues"
    return None if column is None else _advance(state, column, reason, "repetition")


def _advance(state: ForecastState, column: int, reason: str, rule: str) -> Continue:
    """Continue a trial to its next milestone."""
    trial = state.columns.trial(column)
    until = next_milestone(state.last, max(trial.step, state.first - 1))
    return Continue(trial.index, until, reason, state=DecidedBy(rule))


def _belief(state: ForecastState, forecasts: Forecasts, trial: TrialRecord) -> CurveBelief:
    if trial.arm not in state.curves or trial.replicate:
        return CurveBelief()
    column = state.columns.of_arm[trial.arm]
    steps = [step for step in milestones(state.last) if step > state.columns.step[column]]
    return forecasts.curve(state.columns.points[column], steps)


def _in_users_units(forecasts: Forecasts, sign: float, mean: float) -> str:
    """A forecast as a reading."""
    loss = sign * forecasts.loss(mean)
    return f"{loss:.4g} or better" if mean < forecasts.best < math.inf else f"{loss:.4g}"


def _describe(state: ForecastState, forecasts: Forecasts, sign: float, column: int) -> str:
    """The forecast of a started configuration, and the best one of the other paused trials."""
    columns, mean = state.columns, forecasts.mean
    end = _in_users_units(forecasts, sign, mean[column])
    text = f"trial {columns.trial(column).index} has a forecast of {end} at step {state.last}"
    others = [other for other in columns.paused.nonzero()[0].tolist() if other != column]
    if others:
        rival = min(others, key=forecasts.order.__getitem__)
        text += f" (trial {columns.trial(rival).index}: {_in_users_units(forecasts, sign, mean[rival])})"
    return text
