"""Forecast: train the configuration with the largest expected improvement at the end for the steps it costs.

A Gaussian process with parameters fitted to recorded learning curves forecasts the ends. This goes beyond the papers;
measurements are in benchmarks/RESULTS.md.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
m        milestones 1, 2, 3, 5, 8, 13, … T: a grant takes one trial to its next one
u        the best-so-far losses at milestones of all trials, as scores: half by rank, half by size
EI       expected improvement on the best u, of a configuration's forecast at T
======== =========================================================================

The first configurations are random; half of them go to T/9. Then, at every decision:

0. *Check*, in a budget of 20 full trainings or more: after a quarter of it, something that looks good is trained to T,
   and something that looked bad early as well (``forecast_checks.py``). If early readings turn out to mislead, only
   the ends of trainings count: the configuration with the largest EI by these is trained to T at once.
1. *End game*, in the last quarter of the budget: the started configuration with the best forecast continues, if
   r ≤ T/2 or it needs all of r.
2. *Guard*: while promotions by rank (as ASHA's) have had less than their share of the steps, one more if there is one.
   It bounds the damage where the process is wrong.
3. *Model*: of all configurations that can be continued or started, the one with the largest EI per step, second or
   unit of cost, whichever limits the budget. New ones are from a random pool, or neighbours of good ones while these
   are often better than what they were drawn near.

What has exactly the readings of another configuration is not continued (``forecast_copies.py``).

Scores are recomputed from all readings at each decision, so the unit of the losses does not matter. EI is
multiplied by the probability of not failing later, and what is likely to fail is neither promoted nor finished.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.curve_beliefs import CurveBelief
from shoestring.core.decisions import Continue, Decision, Start
from shoestring.core.history import History, TrialRecord
from shoestring.core.options import check_number, check_whole
from shoestring.core.untried import first_enqueued, propose_new, tried
from shoestring.methods.forecast_prices import price_range, scarcest, shares_left
from shoestring.methods.forecast_state import MOST_RISK, DecidedBy, Forecasts, ForecastState, milestones
from shoestring.methods.learning_curves import format_steps, nothing_left, remaining_steps, steps_are_free
from shoestring.models.threads import one_thread
from shoestring.samplers import Random
from shoestring.samplers.candidates import around
from shoestring.schedulers.rungs import top_resource
from shoestring.spaces.codec import Codec, Config

# A new configuration is compared with this many neighbours of each of the best started ones.
_NEIGHBOURS = 50
# With this many full trainings in the budget, two can be spent on a check; some must be left to act on what it says.
_MANY_TRAININGS, _LEFT_TO_ACT = 20, 3
# The end game is in the last quarter of the budget.
_END_GAME = 0.25
# By then something was trained to its end, so that early readings can be checked.
_FIRST_END = 0.75
_MISLED = "early readings mislead, as a trial that looked bad early ended best"
_SINGULAR = {"steps": "step", "seconds": "second", "cost": "unit of cost"}


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
        # Once the evaluations are spent no trial continues: the last new configuration gets all of its steps at once.
        first = top if steps_are_free(history) or history.ledger.free("evaluations") <= 1 else 1
        startup = min(self.startup, (history.ledger.budget.evaluations or math.inf) / 2)
        informed = any(step in milestones(top) and not trial.replicate for trial, step, _ in history.readings)
        if len(history.arms) < startup or not informed or history.queue:
            until = first if 2 * len(history.arms) >= startup else max(first, _first_steps(history, top))
            if history.queue:
                enqueued = first_enqueued(history)
                return Start(until, enqueued.reason, enqueued.config)
            start = _random(history, rng, until, f"one of the first {math.ceil(startup)} configurations")
            if start is not None:
                return start
        if not informed:
            return nothing_left(history)
        return self._decide_by_model(history, rng, top, first)

    @one_thread()
    def _decide_by_model(self, history: History, rng: np.random.Generator, top: int, first: int) -> Decision:
        state = self._state(history, top)
        forecasts = state.forecasts()
        return (
            self._check(state, forecasts, history, top)
            or self._end_game(state, forecasts, history, top)
            or self._promotion(state, forecasts, history)
            or self._most_improvement(state, forecasts, history, rng, first)
        )

    def _state(self, history: History, top: int) -> ForecastState:
        state = history.cached(("forecast", self), lambda: ForecastState(history, self.pool, top))
        state.update(history)
        return state

    @one_thread()
    def belief(self, history: History, trials: Sequence[TrialRecord]) -> list[CurveBelief]:
        """What the process forecasts of the best loss so far of these trials, at their next milestones."""
        state = self._state(history, top_resource(history, "forecast"))
        if not np.isfinite(state.losses).any():
            return [CurveBelief() for _ in trials]
        forecasts = state.forecasts_by_ends() if state.check.failed else state.forecasts_of_readings()
        return [
            forecasts.curve(state.column[trial.arm])
            if trial.arm in state.curves and not trial.replicate
            else CurveBelief()
            for trial in trials
        ]

    def _check(self, state: ForecastState, forecasts: Forecasts, history: History, top: int) -> Decision | None:
        """(0) Do early readings say something about the end? If not, go by the ends alone."""
        check, left = state.check, remaining_steps(history)
        if check.failed:
            return self._by_ends(state, history, top, left)
        whole = left + history.ledger.steps + history.ledger.committed_steps
        if check.arm is not None or left < _LEFT_TO_ACT * top or whole < _MANY_TRAININGS * top:
            return None
        why = "a check whether early readings say something about the end"
        if check.ends:
            paused = [index for index in check.looked_bad() if state.paused[state.column[index]]]
            reason = f"was in the worse half after its first step: {why}"
            return state.finish(state.column[paused[0]], reason, "check") if paused else None
        column = self._best_paused(state, forecasts)
        ending = any(trial.until == top for trial in history.running.values())
        if ending or column is None or min(shares_left(history).values()) > _FIRST_END:
            return None
        return state.finish(column, f"has the best forecast of all paused trials: the first part of {why}", "first end")

    def _by_ends(self, state: ForecastState, history: History, top: int, left: float) -> Decision | None:
        """Train to its end what has the largest expected improvement by the ends of other trainings."""
        forecasts = state.forecasts_by_ends()
        possible = state.trainable & (top - state.step <= left)
        column = int(np.argmax(np.where(possible, forecasts.improvement, -1.0)))
        if not possible[column]:
            return None
        reason = f"has the largest expected improvement by the ends of trainings alone: {_MISLED}"
        if column in state.arm_at:
            return state.finish(column, reason, "ends")
        return Start(top, f"a new configuration {reason}", state.pool.config(column), state=DecidedBy("ends"))

    @staticmethod
    def _best_paused(state: ForecastState, forecasts: Forecasts) -> int | None:
        """The column of the paused trial with the best forecast that is not likely to fail."""
        safe = state.paused & (forecasts.risk <= MOST_RISK)
        return int(np.argmin(np.where(safe, forecasts.mean, np.inf))) if safe.any() else None

    def _end_game(self, state: ForecastState, forecasts: Forecasts, history: History, top: int) -> Continue | None:
        """(1) Little is left: the configuration with the best forecast continues."""
        column, left = self._best_paused(state, forecasts), remaining_steps(history)
        if column is None or left == math.inf or min(shares_left(history).values()) > _END_GAME:
            return None
        if left > top / 2 and left > top - state.step[column]:
            return None
        reason = f"{format_steps(left)} left and {forecasts.describe(column)}, the best of all paused trials"
        return state.advance(column, reason, "end game")

    def _promotion(self, state: ForecastState, forecasts: Forecasts, history: History) -> Continue | None:
        """(2) The best paused trial in the top 1/eta of its rung, the highest rung first."""
        if state.guarded >= self.guard * history.ledger.steps:
            return None
        for level in range(len(state.rungs) - 2, -1, -1):
            ranked = [index for _, index in state.ranked[level] if self._promotable(state, forecasts, index)]
            for place, index in enumerate(ranked[: int(len(ranked) / self.eta)]):
                trial = history.arms[index].trials[0]
                if trial.state == "paused" and trial.step < state.rungs[level + 1]:
                    reason = f"ranked {place + 1} of the {len(ranked)} trials that reached step {state.rungs[level]}"
                    return state.advance(state.column[index], reason, "guard")
        return None

    @staticmethod
    def _promotable(state: ForecastState, forecasts: Forecasts, index: int) -> bool:
        return forecasts.risk[state.column[index]] <= MOST_RISK and not state.repeats(index)

    def _most_improvement(
        self, state: ForecastState, forecasts: Forecasts, history: History, rng: np.random.Generator, first: int
    ) -> Decision:
        """(3) The largest expected improvement at T per step to the next milestone."""
        gain = np.where(state.trainable, forecasts.improvement / state.price(history), -1.0)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            new = _random(history, rng, first, "the pool is used up: a new configuration")
            return new or state.repetition() or nothing_left(history)
        per = f"the largest expected improvement per {_SINGULAR[scarcest(history)]}{price_range(state, history)}"
        per += state.failures.so_far()
        if best in state.arm_at:
            reason = f"{forecasts.describe(best)}, {per}"
            return state.advance(best, reason, "model")
        config, mean, parent = self._new(state, forecasts, history, rng, best)
        end = forecasts.in_users_units(mean)
        near = f" near configuration {parent}" if parent >= 0 else ""
        reason = f"a new configuration{near} with a forecast of {end} has {per}"
        return Start(first, reason, config, state=DecidedBy("model", parent))

    def _new(
        self, state: ForecastState, forecasts: Forecasts, history: History, rng: np.random.Generator, best: int
    ) -> tuple[Config, float, int]:
        """The best new configuration of the pool or, if better, a neighbour of a good one; its mean and parent."""
        config, mean = state.pool.config(best), float(forecasts.mean[best])
        codec, keys = history.codec, tried(history)
        whole_space = codec.rows is not None or (codec.finite and len(state.pool) < self.pool)
        if whole_space or not state.neighbours.pay(state.started):
            return config, mean, -1
        drawn = [(one, parent) for parent in state.parents(forecasts) for one in _near(state, history, rng, parent)]
        near = [(one, parent) for one, parent in drawn if codec.allowed(one) and Codec.key(one) not in keys]
        if near:
            means, gains = forecasts.at(np.array([codec.encode(one) for one, _ in near]))
            place = int(np.argmax(gains))
            if gains[place] > forecasts.improvement[best]:
                return near[place][0], float(means[place]), near[place][1]
        return config, mean, -1


def _first_steps(history: History, top: int) -> int:
    """How far half of the first configurations go, so that something can contradict early readings that mislead.

    A ninth of a full training but at least two steps. All of them together get about an eighth of the budget at most.
    """
    most = min(max(2, top / 9), remaining_steps(history) / 40) if top > 4 else 1
    return max((m for m in milestones(top) if m <= most), default=1)


def _random(history: History, rng: np.random.Generator, first: int, why: str) -> Start | None:
    proposal = propose_new(Random(), history, rng)
    return Start(first, f"{why}, drawn at random", proposal.config) if proposal else None


def _near(state: ForecastState, history: History, rng: np.random.Generator, parent: int) -> list[Config]:
    centre = state.points[[state.column[parent]]]
    points = around(centre, rng, _NEIGHBOURS, history.codec, smallest=0.03, every_axis=True)
    return [history.codec.decode(point) for point in points]
