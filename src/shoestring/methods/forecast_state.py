"""What forecast knows of a study: the readings as its process needs them, failures, prices, and the forecasts.

All of it is updated by what is new in the history and is the same when it is rebuilt from the log.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.curve_beliefs import CurveBelief
from shoestring.core.decisions import Continue, read_state
from shoestring.core.events import Granted
from shoestring.core.history import FAILED, Arm, Cursor, History, TrialRecord
from shoestring.methods.forecast_checks import Check
from shoestring.methods.forecast_copies import Neighbours, Twins
from shoestring.methods.forecast_failures import Failures
from shoestring.methods.forecast_prices import step_prices
from shoestring.methods.learning_curves import Pool, expected_improvement, remaining_steps
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores, loss_of_score

# Promotions by rank compare trials at every second milestone: 1, 3, 8, 21, … is nearly a factor of 3.
_RUNG = 2
# The process holds at most this many readings; beyond, half are kept: the last ones of the best trials. Of the failed
# trials at most an eighth is kept: they say where not to look.
_MOST_READINGS = 2000
# At most so many running trials are imputed, the last ones that were granted: what they cost grows with their square.
_MOST_EXPECTED = 128
# Configurations that are more likely to fail than this are neither promoted by rank nor finished.
MOST_RISK = 0.3


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
    """The state of a grant: the rule that decided it, such as "guard" or "model".

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
        self._encode = codec.encode
        self._arms = history.arms
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
        self.twins = Twins()
        self.check = Check(self.curves, top)
        # Steps granted by the guard, and configurations started by the model.
        self.guarded = self.started = 0
        # By trial, the grants whose last readings are imputed in the process.
        self._expected: dict[int, Granted] = {}
        self._lowest: dict[int, float] = {}
        # By column, the steps of results from elsewhere: they are run again if such a trial continues here.
        self._repeated: dict[int, int] = {}
        self._readings, self._grants, self._closings = Cursor(), Cursor(), Cursor()

    def update(self, history: History) -> None:
        self.pool.update(history)
        changed = set()
        grants = deque(self._grants.new(history.grants))
        for grant in grants:
            changed.add(grant.arm)
            decided = read_state(DecidedBy, grant.state)
            if decided is not None and decided.rule == "guard":
                self.guarded += grant.until - grant.start
            if decided is not None and decided.rule == "model" and grant.config is not None:
                self.started += 1
            if decided is not None and decided.rule == "check":
                self.check.arm = grant.arm
            if decided is not None and decided.rule == "ends":
                self.check.by_ends.add(grant.arm)
            if decided is not None and decided.parent >= 0:
                self.neighbours.parent[grant.arm] = decided.parent
        for place, trial, reading in self._new_events(history):
            while grants and history.granted_after[len(history.grants) - len(grants)] <= place:
                self._expect(grants.popleft())
            if reading is None:
                self._forget(trial.index)
                self._take_in_closing(history, trial)
            else:
                self._take_in(history, trial, *reading)
            changed.add(trial.arm)
        for grant in grants:
            self._expect(grant)
        changed |= {child for child, parent in self.neighbours.parent.items() if parent in changed}
        for index in changed & self.column.keys():
            trial, column = history.arms[index].trials[0], self.column[index]
            self.step[column] = trial.step
            self.paused[column] = (
                trial.state == "paused" and trial.step < self.milestones[-1] and not self.repeats(index)
            )
            self.failures.living[column] = trial.state not in FAILED
            self._repeated[column] = trial.step if trial.foreign else 0

    def _new_events(self, history: History) -> Iterator[tuple[int, TrialRecord, tuple[int, float] | None]]:
        """The new readings (step, loss) and closings (None), each with how many of both came before it.

        In the order of the log, so that a rebuilt state goes through the same arithmetic.
        """
        readings, closings = self._readings.new(history.readings), self._closings.new(history.closings)
        first = len(history.readings) - len(readings)
        closed = len(history.closings) - len(closings)
        for place, (trial, step, loss) in enumerate(readings, first):
            while closings and closings[0].closed_after <= place:
                yield place + closed, closings.pop(0), None
                closed += 1
            yield place + closed, trial, (step, loss)
        yield from ((len(history.readings) + closed + i, trial, None) for i, trial in enumerate(closings))

    def _expect(self, grant: Granted) -> None:
        """Impute the reading at the end of a grant with the posterior mean, until it is there or the trial ends."""
        if len(self._expected) == _MOST_EXPECTED:
            self._forget(next(iter(self._expected)))
        self._expected[grant.trial] = grant
        self._expect_in(self.process, grant)

    def _forget(self, trial: int) -> None:
        if self._expected.pop(trial, None) is not None:
            self.process.forget(trial)

    def _expect_in(self, process: CurveProcess, grant: Granted) -> None:
        config = self._arms[grant.arm].config
        column = self.column.get(grant.arm)
        column = self.pool.index(config) if column is None else column
        point = self._encode(config) if column is None else self.points[column]
        process.expect(grant.trial, grant.until, column, point)

    def _take_in(self, history: History, trial: TrialRecord, step: int, loss: float) -> None:
        grant = self._expected.get(trial.index)
        due = trial.index if grant is not None and step >= grant.until else None
        if not trial.replicate:
            self._take_in_loss(history, trial.arm, step, loss, due)
        if due is not None:
            self._forget(due)

    def _take_in_loss(self, history: History, index: int, step: int, loss: float, due: int | None) -> None:
        """A loss of an arm; ``due`` is the trial that this reading was expected from, if it was."""
        lowest = self._lowest[index] = min(loss, self._lowest.get(index, loss))
        self._add_arm(history, history.arms[index])
        if step not in self.milestones:
            return
        self.curves.setdefault(index, {})[step] = lowest
        self.twins.take_in(index, step, loss)
        self._add_reading(self.column[index], step, lowest, due)
        if step in self.rungs:
            insort(self.ranked[self.rungs.index(step)], (lowest, index))

    def _take_in_closing(self, history: History, trial: TrialRecord) -> None:
        """A failed trial ranks last on the rung of its last grant; one without readings has an infinite first loss.

        Were a late failure a reading too, the process would shun good regions: what is trained for longer fails more
        often. The regression of failures learns from both.
        """
        if trial.state not in FAILED or trial.replicate:
            return
        self._add_arm(history, history.arms[trial.arm])
        self.curves.pop(trial.arm, None)
        if not trial.step:
            self._add_reading(self.column[trial.arm], 1, math.inf)
        self.failures.steps.append(trial.step + 1)
        level = next((i for i, rung in enumerate(self.rungs) if rung >= trial.until), None)
        if level is not None:
            self.ranked[level].append((math.inf, trial.arm))

    def _add_arm(self, history: History, arm: Arm) -> None:
        if arm.index in self.column:
            return
        column = self.pool.index(arm.config)
        if column is None:
            point = self._encode(arm.config)
            column = self.process.add_column(point)
            self.points = np.vstack([self.points, point[None]])
            self.step, self.paused = np.append(self.step, 0), np.append(self.paused, False)
        self.column[arm.index], self.arm_at[column] = column, arm

    def _add_reading(self, column: int, step: int, loss: float, due: int | None = None) -> None:
        if len(self.losses) == _MOST_READINGS:
            self._condense()
        self.process.add(column, step, due)
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
        for grant in self._expected.values():
            self._expect_in(self.process, grant)

    def forecasts(self) -> Forecasts:
        """Forecasts with the next readings of running trials imputed with the posterior mean."""
        return Forecasts(self, self.process, self.columns, np.array(self.losses))

    def forecasts_of_readings(self) -> Forecasts:
        """Forecasts without what is imputed."""
        return Forecasts(self, self.process.observed(), self.columns, np.array(self.losses))

    def forecasts_by_ends(self) -> Forecasts:
        """Forecasts from the trials that were trained to their end, and from no other reading."""
        process = CurveProcess(self.points, self.milestones[-1], self._choices, self._is_table)
        ends = self.check.ends
        columns = np.array([self.column[index] for index in ends])
        for column in columns.tolist():
            process.add(column, self.milestones[-1])
        for grant in self._expected.values():
            self._expect_in(process, grant)
        return Forecasts(self, process, columns, np.array(list(ends.values())))

    def price(self, history: History) -> Array:
        """Per column, what its next milestone costs: steps, or relative amounts of the unit that limits the budget.

        A new configuration also costs an evaluation; where these are limited, it is worth its share of the steps left.
        """
        places = np.searchsorted(self.milestones, self.step, side="right")
        steps = np.array([*self.milestones, math.inf])[places] - self.step
        for column, again in self._repeated.items():
            steps[column] += again
        per_evaluation = remaining_steps(history) / max(history.ledger.free("evaluations"), 1)
        if 0 < per_evaluation < math.inf:
            steps[self.step == 0] = np.maximum(steps[self.step == 0], per_evaluation)
        return np.asarray(steps * step_prices(self, history))

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
        alive = [column for column, arm in self.arm_at.items() if arm.trials[0].state not in FAILED]
        return [self.arm_at[column].index for column in sorted(alive, key=forecasts.mean.__getitem__)[:3]]

    def repeats(self, index: int) -> bool:
        """Whether a configuration has shown nothing that another one has not: it is not continued."""
        return self.neighbours.behind(index) or self.twins.is_twin(index)

    def repetition(self) -> Continue | None:
        """Continue a configuration that repeats another one, where nothing else is left."""
        waiting = (column for column in self.arm_at if self.trial(column).state == "paused")
        column = next((column for column in waiting if self.step[column] < self.milestones[-1]), None)
        reason = "nothing else is left, so that a configuration with the readings of another one continues"
        return None if column is None else self.advance(column, reason, "repetition")

    def trial(self, column: int) -> TrialRecord:
        return self.arm_at[column].trials[0]

    def advance(self, column: int, reason: str, rule: str) -> Continue:
        """Continue a trial to its next milestone."""
        trial = self.trial(column)
        until = next((m for m in self.milestones if m > trial.step), self.milestones[-1])
        return Continue(trial.index, until, reason, state=DecidedBy(rule))

    def finish(self, column: int, reason: str, rule: str) -> Continue:
        """Train a trial to its end."""
        trial = self.trial(column)
        return Continue(trial.index, self.milestones[-1], f"trial {trial.index} {reason}", state=DecidedBy(rule))


class Forecasts:
    """The forecasts at one decision: the end of every column, as scores.

    ``columns`` and ``losses`` are those of the readings in the process.
    """

    def __init__(self, state: ForecastState, process: CurveProcess, columns: Codes, losses: Array) -> None:
        self._state, self._process = state, process
        self.losses = losses
        self.scores = blended_scores(losses)
        self.w, self.scale = process.whiten(self.scores)
        self.mean = process.means(self.w)
        self._failure_model = state.failures.model(state)
        self.risk = state.failures.risk(self._failure_model, state.points, state.step)
        self.best = float(self.scores[self._attainable(columns)].min())

    @cached_property
    def improvement(self) -> Array:
        """Per column, the expected improvement; promotions by rank do without it."""
        deviation = self._process.deviations(self.scale)
        return expected_improvement(self.mean, deviation, self.best) * (1 - self.risk)

    def _attainable(self, columns: Codes) -> Mask:
        """The readings to improve on: those of failed and of risky trials may be out of reach of all others."""
        failed = np.array([not self._state.failures.living[column] for column in columns.tolist()])
        attainable = ~failed & (self.risk[columns] <= MOST_RISK)
        return attainable if attainable.any() else np.ones(len(columns), dtype=bool)

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and expected improvement of new configurations."""
        failures = self._state.failures
        mean, deviation = self._process.forecast_points(self.w, self.scale, points)
        risk = failures.risk(self._failure_model, points, np.zeros(len(points)))
        return mean, expected_improvement(mean, deviation, self.best) * (1 - risk)

    def curve(self, column: int) -> CurveBelief:
        """The forecast of one curve at its next milestones."""
        state = self._state
        steps = [step for step in state.milestones if step > state.step[column]]
        point = state.points[[column]]
        found = [self._process.forecast_points(self.w, self.scale, point, step) for step in steps]
        mean, deviation = (np.array([pair[i][0] for pair in found]) for i in (0, 1))
        known = self.scores[np.isfinite(self.losses)]
        return CurveBelief.of_normal(steps, mean, deviation, self._loss, (known.min(), known.max()))

    def _loss(self, score: float) -> float:
        """The loss of a score, which reaches no further than the observed losses."""
        finite = np.isfinite(self.losses)
        return loss_of_score(score, self.losses[finite], self.scores[finite])

    def in_users_units(self, mean: float) -> str:
        """A forecast as a reading."""
        loss = self._state.sign * self._loss(mean)
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
