"""The knowledge of a study that decisions are made from: it follows the log event by event.

It is the same when it is rebuilt from the log: events are taken in the order of the log, so the arithmetic is the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import read_state
from shoestring.core.events import Granted
from shoestring.core.history import FAILED, Cursor, History, TrialRecord
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.copies import Duplicates, Neighbours
from shoestring.methods.forecast.failures import failure_model
from shoestring.methods.forecast.feasible import ConstraintReadings, EndFeasibility
from shoestring.methods.forecast.forecasts import Forecasts
from shoestring.methods.forecast.milestones import milestones
from shoestring.methods.forecast.readings import Readings
from shoestring.methods.forecast.rungs import Rungs
from shoestring.models.continued_process import ContinuedProcess
from shoestring.models.curve_process import CurveProcess
from shoestring.samplers.candidates import embedding


@dataclass(frozen=True)
class DecidedBy:
    """The state of a grant: the rule that decided it, such as "guard" or "model".

    ``parent`` is the configuration that a new one was drawn near; -1 if there is none.
    """

    rule: str
    parent: int = -1


class GrantedByRule:
    """Per rule, the ``steps`` that it granted, how many configurations it ``started``, and its ``arms`` in order."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.started: Counter[str] = Counter()
        self.arms: dict[str, list[int]] = {}

    def add(self, rule: str, grant: Granted) -> None:
        self.steps[rule] += grant.until - grant.start
        self.started[rule] += grant.config is not None
        self.arms.setdefault(rule, []).append(grant.arm)


class ForecastState:
    """The state of a study. ``last`` is the last step of a training, and ``first`` the first milestone that counts.

    ``columns`` and ``readings`` are what the process needs, ``curves`` has by arm the best loss so far at each
    milestone, ``rungs`` ranks arms, ``constrained`` has the readings of the constraints to model, None without any,
    ``neighbours`` and ``duplicates`` are the arms that repeat another one, ``failed_at`` are the steps at which trials
    failed, and ``granted`` is what each rule has decided.
    """

    def __init__(self, history: History, pool: int, last: int, first: int) -> None:
        choices, is_table = tuple(bool(n) for n in history.codec.choices), history.codec.rows is not None
        # What is seen of several objectives is another history at every decision, and so is this state.
        kind = CurveProcess if history.unweighed is None else ContinuedProcess

        def new_process(points: Array) -> CurveProcess:
            return kind(points, last, choices, is_table)

        self._processes = ("curve process", pool, last, first)
        self.last, self.first, self._stops = last, first, frozenset(milestones(last))
        self.columns = Columns(history, pool)
        self.readings = Readings(self.columns, new_process, self.misses)
        self.curves: dict[int, dict[int, float]] = {}
        self.rungs = Rungs(last, first)
        self.constrained = ConstraintReadings(history.goals.constraints) if history.goals.constraints else None
        self.neighbours, self.duplicates = Neighbours(self.curves, self.misses), Duplicates()
        self.failed_at: list[int] = []
        self.granted = GrantedByRule()
        self.embed = embedding(history)
        self._lowest: dict[int, float] = {}
        self._new_events = _NewEvents()

    def update(self, history: History) -> None:
        """Take in what is new in the history."""
        self.columns.pool.update(history)
        changed = set()
        for event in self._new_events.of(history):
            if isinstance(event, Granted):
                self._take_in_grant(event)
                changed.add(event.arm)
            else:
                self._take_in_outcome(event)
                changed.add(event.trial.arm)
        changed |= {child for child, parent in self.neighbours.parent.items() if parent in changed}
        for arm in changed & self.columns.of_arm.keys():
            self.columns.update(arm, self.repeats(arm), self.last)
        if history.unweighed is not None:
            self.readings.continue_process(history.unweighed.cached(self._processes, list))

    def _take_in_grant(self, grant: Granted) -> None:
        decided = read_state(DecidedBy, grant.state)
        if decided is not None:
            self.granted.add(decided.rule, grant)
        if decided is not None and decided.parent >= 0:
            self.neighbours.parent[grant.arm] = decided.parent
        if grant.until >= self.first:
            self.readings.expect(grant)

    def _take_in_outcome(self, event: _Outcome) -> None:
        trial, step, loss = event
        if loss is None:
            self.readings.forget(trial.index)
            self._take_in_closing(trial)
            return
        due = self.readings.due(trial.index, step)
        if not trial.replicate:
            self._take_in_loss(trial, step, loss, due)
        if due is not None:
            self.readings.forget(due)

    def _take_in_loss(self, trial: TrialRecord, step: int, loss: float, due: int | None) -> None:
        """A loss of an arm's first trial; ``due`` is the trial that this reading was expected from, if it was."""
        arm, is_milestone = trial.arm, step in self._stops
        lowest = self._lowest[arm] = min(loss, self._lowest.get(arm, loss))
        if arm not in self.columns.of_arm:
            self._start(arm)
        if self.constrained is not None:
            self.constrained.add(trial, step, loss, is_milestone)
        if not is_milestone:
            return
        self.curves.setdefault(arm, {})[step] = lowest
        self.duplicates.take_in(arm, step, loss, trial.violations.get(step, ()))
        if step >= self.first:
            self.readings.add(self.columns.of_arm[arm], step, lowest, due)
            self.rungs.add(arm, step, lowest)

    def _take_in_closing(self, trial: TrialRecord) -> None:
        """A failed trial ranks last on the rung of its last grant; one without readings has an infinite first loss.

        A late failure is not a reading: good configurations are trained longer, so they have more chances to fail, and
        the process would shun their regions. The regression of failures learns from both.
        """
        if trial.state not in FAILED or trial.replicate:
            return
        self._start(trial.arm)
        self.curves.pop(trial.arm, None)
        if not trial.step:
            self.readings.add(self.columns.of_arm[trial.arm], 1, math.inf)
        self.failed_at.append(trial.step + 1)
        self.rungs.add_failed(trial.arm, trial.until)

    def _start(self, arm: int) -> None:
        point = self.columns.start(arm)
        if point is not None:
            self.readings.process.add_column(point)

    def repeats(self, arm: int) -> bool:
        """Return whether a configuration has shown nothing that another one has not: it is not continued."""
        return self.neighbours.behind(arm) or self.duplicates.is_duplicate(arm)

    @property
    def ends(self) -> dict[int, float]:
        """The best losses of the arms that were trained to their end."""
        return {arm: curve[self.last] for arm, curve in self.curves.items() if self.last in curve}

    def misses(self, arm: int, step: int) -> bool:
        """Return whether the reading of an arm at a milestone violates a constraint."""
        return self.constrained is not None and self.constrained.misses(arm, step)

    def forecasts(self, history: History) -> Forecasts:
        """Forecasts with the next readings of running trials imputed with the posterior mean."""
        feasibility = None
        if self.constrained is not None:
            places = [(self.columns.arm_at[column].index, step) for column, step in self.readings.places]
            feasibility = EndFeasibility(
                history, self.columns, self.constrained, self.readings.process, places, self.last
            )
        return self._forecasts(self.readings.process, feasibility)

    def forecasts_of_readings(self) -> Forecasts:
        """Forecasts of losses alone, without what is imputed."""
        return self._forecasts(self.readings.process.without_expected())

    def _forecasts(self, process: CurveProcess, feasibility: EndFeasibility | None = None) -> Forecasts:
        columns, places, losses = self.columns, self.readings.columns, self.readings.losses
        started = np.array(sorted(columns.arm_at))
        points, step, failed = columns.points[started], columns.step[started], columns.failed[started]
        failures = failure_model(points, step, failed, self.failed_at, self.embed)
        return Forecasts(process, places, losses, columns, failures, feasibility)


class _Outcome(NamedTuple):
    """A reading of a trial, or with a loss of None its closing."""

    trial: TrialRecord
    step: int
    loss: float | None


class _NewEvents:
    """The grants, readings and closings of a history since it was last read, in the order of the log."""

    def __init__(self) -> None:
        self._grants, self._readings, self._closings = Cursor(), Cursor(), Cursor()

    def of(self, history: History) -> Iterator[Granted | _Outcome]:
        """A grant comes before the outcome whose number is how many readings and closings came before the grant."""
        grants, closings = self._grants.new(history.grants), self._closings.new(history.closings)
        readings = self._readings.new(history.readings)
        known = len(history.readings) - len(readings)
        number, next_grant = known + len(history.closings) - len(closings), 0
        places = history.granted_after[len(history.grants) - len(grants) :]
        for outcome in _outcomes(closings, readings, known):
            while next_grant < len(grants) and places[next_grant] <= number:
                yield grants[next_grant]
                next_grant += 1
            yield outcome
            number += 1
        yield from grants[next_grant:]


def _outcomes(
    closings: list[TrialRecord], readings: list[tuple[TrialRecord, int, float]], known: int
) -> Iterator[_Outcome]:
    """Readings, of which ``known`` came before, and closings; these know how many readings came before them."""
    next_closing = 0
    for place, reading in enumerate(readings, known):
        while next_closing < len(closings) and closings[next_closing].closed_after <= place:
            yield _closing(closings[next_closing])
            next_closing += 1
        yield _Outcome(*reading)
    yield from map(_closing, closings[next_closing:])


def _closing(trial: TrialRecord) -> _Outcome:
    return _Outcome(trial, trial.step, None)
