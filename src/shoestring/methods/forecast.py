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

The first configurations are random; half of them go to T/9, and with a large budget the very first one to T. Then, at
every decision:

1. *End game*, in the last quarter of the budget: the started configuration with the best forecast continues, if
   r ≤ T/2 or it needs all of r.
2. *Guard*: while promotions by rank (as ASHA's) have had less than their share of the steps, one more if there is one.
   It bounds the damage where the process is wrong. Once the first readings turn out to say nothing about later ones,
   every promotion that is possible is made.
3. *Model*: of all configurations that can be continued or started, the one with the largest EI per step, second or
   unit of cost, whichever limits the budget. New ones are from a random pool, or neighbours of good ones while these
   are often better than what they were drawn near.

Scores are recomputed from all readings at each decision, so nothing depends on the scale of the losses. EI is
multiplied by the probability of not failing later, and what is likely to fail is neither promoted nor finished.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Continue, Decision, Start
from shoestring.core.history import History
from shoestring.core.options import check_number, check_whole
from shoestring.core.untried import propose_new, tried
from shoestring.methods.forecast_state import (
    MOST_RISK,
    DecidedBy,
    Forecasts,
    ForecastState,
    milestones,
    price_range,
    scarcest,
    shares_left,
)
from shoestring.methods.learning_curves import format_steps, nothing_left, remaining_steps, steps_are_free
from shoestring.models.threads import one_thread
from shoestring.samplers import Random
from shoestring.samplers.candidates import around
from shoestring.schedulers.rungs import top_resource
from shoestring.spaces.codec import Codec, Config

# A new configuration is compared with this many neighbours of each of the best started ones.
_NEIGHBOURS = 50
# With this many full trainings in the budget, the first configuration is trained to its end.
_MANY_TRAININGS = 20
# The end game is in the last quarter of the budget.
_END_GAME = 0.25
_MISLED = "; promotions by rank come first, because so far the first readings say nothing about later ones"
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
        first = top if steps_are_free(history) else 1
        informed = any(step in milestones(top) and not trial.replicate for trial, step, _ in history.readings)
        if len(history.arms) < self.startup or not informed:
            until = first if 2 * len(history.arms) >= self.startup else max(first, _first_steps(history, top))
            start = _random(history, rng, until, f"one of the first {self.startup} configurations")
            if start is not None:
                return start
        if not informed:
            return nothing_left(history)
        return self._decide_by_model(history, rng, top, first)

    @one_thread()
    def _decide_by_model(self, history: History, rng: np.random.Generator, top: int, first: int) -> Decision:
        state = history.cached(("forecast", self), lambda: ForecastState(history, self.pool, top))
        state.update(history)
        with state.forecasts(history) as forecasts:
            return (
                self._end_game(state, forecasts, history, top)
                or self._promotion(state, forecasts, history)
                or self._most_improvement(state, forecasts, history, rng, first)
            )

    def _end_game(self, state: ForecastState, forecasts: Forecasts, history: History, top: int) -> Continue | None:
        """(1) Little is left: the configuration with the best forecast continues."""
        safe, left = state.paused & (forecasts.risk <= MOST_RISK), remaining_steps(history)
        if not safe.any() or left == math.inf or min(shares_left(history).values()) > _END_GAME:
            return None
        column = int(np.argmin(np.where(safe, forecasts.mean, np.inf)))
        if left > top / 2 and left > top - state.step[column]:
            return None
        reason = f"{format_steps(left)} left and {forecasts.describe(column)}, the best of all paused trials"
        return state.advance(column, reason, "end game")

    def _promotion(self, state: ForecastState, forecasts: Forecasts, history: History) -> Continue | None:
        """(2) The best paused trial in the top 1/eta of its rung, the highest rung first."""
        misled = state.early_readings_mislead()
        if not misled and state.guarded >= self.guard * history.ledger.steps:
            return None
        for level in range(len(state.rungs) - 2, -1, -1):
            ranked = [index for _, index in state.ranked[level] if self._promotable(state, forecasts, index)]
            for place, index in enumerate(ranked[: int(len(ranked) / self.eta)]):
                trial = history.arms[index].trials[0]
                if trial.state == "paused" and trial.step < state.rungs[level + 1]:
                    reason = f"ranked {place + 1} of the {len(ranked)} trials that reached step {state.rungs[level]}"
                    reason += _MISLED if misled else ""
                    return state.advance(state.column[index], reason, "guard")
        return None

    @staticmethod
    def _promotable(state: ForecastState, forecasts: Forecasts, index: int) -> bool:
        return forecasts.risk[state.column[index]] <= MOST_RISK and not state.neighbours.behind(index)

    def _most_improvement(
        self, state: ForecastState, forecasts: Forecasts, history: History, rng: np.random.Generator, first: int
    ) -> Decision:
        """(3) The largest expected improvement at T per step to the next milestone."""
        gain = np.where(state.trainable, forecasts.improvement / state.price(history), -1.0)
        best = int(np.argmax(gain))
        if gain[best] < 0:
            return _random(history, rng, first, "the pool is used up: a new configuration") or nothing_left(history)
        per = f"the largest expected improvement per {_SINGULAR[scarcest(history)]}{price_range(state, history)}"
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

    A ninth of a full training but at least two steps; the very first one to its end, if the budget has room for it. All
    of them together get no more than about an eighth of the budget.
    """
    left = remaining_steps(history)
    if not history.arms and _MANY_TRAININGS * top <= left < math.inf:
        return top
    most = min(max(2, top / 9), left / 40) if top > 4 else 1
    return max((m for m in milestones(top) if m <= most), default=1)


def _random(history: History, rng: np.random.Generator, first: int, why: str) -> Start | None:
    proposal = propose_new(Random(), history, rng)
    return Start(first, f"{why}, drawn at random", proposal.config) if proposal else None


def _near(state: ForecastState, history: History, rng: np.random.Generator, parent: int) -> list[Config]:
    centre = state.points[[state.column[parent]]]
    points = around(centre, rng, _NEIGHBOURS, history.codec, smallest=0.03, every_axis=True)
    return [history.codec.decode(point) for point in points]
