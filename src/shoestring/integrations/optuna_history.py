"""The trials of an Optuna study as a history of ours, which methods decide from.

Every trial of Optuna's storage is one trial here, in the order of their numbers: granted all its steps, with its
readings, and closed. A trial that still runs is running here. Pruned trials are stopped, so no method continues them.

Optuna's steps are any numbers. Here a step is the place of its number among all numbers that were reported, from 1, and
a full training has as many steps as there are such numbers. Readings are kept at the milestones of ``forecast``, each
as the best value so far; the value of a complete trial is its last reading.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoestring.core.budget import Budget
from shoestring.core.events import Budgeted, Closed, Closing, Granted, Mode, Opened, Reported
from shoestring.core.history import History, TrialRecord
from shoestring.core.randomness import integer
from shoestring.core.recommendation import DEFAULT_RULE
from shoestring.exchange.optuna_space import own_value
from shoestring.methods.forecast.milestones import milestones
from shoestring.spaces.codec import Codec, Config
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.serialisation import serialise

_CLOSINGS: dict[str, Closing] = {"COMPLETE": "finished", "PRUNED": "stopped", "FAIL": "failed"}


class ReportedSteps:
    """All step numbers that the trials of a study have reported, in order."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._read: set[int] = set()

    def update(self, trials: Iterable[Any]) -> tuple[int, ...]:
        """Read the trials that are new or not finished yet."""
        for trial in trials:
            if trial.number not in self._read:
                self._known.update(trial.intermediate_values)
                if trial.state.is_finished():
                    self._read.add(trial.number)
        return tuple(sorted(self._known))


class OptunaHistory:
    """A history that follows an Optuna study, and the record of each trial by its number there."""

    def __init__(
        self,
        space: ConfigSpace.ConfigurationSpace,
        distributions: Mapping[str, Any],
        steps: Sequence[int],
        mode: Mode,
        budget: Budget,
        seed: int,
    ) -> None:
        self.history = History()
        self.records: dict[int, TrialRecord] = {}
        self._steps, self._last = steps, max(len(steps), 1)
        self._distributions = distributions
        most = self._last if self._last > 1 else None
        opened = Opened(
            0.0, serialise(space), {"class": "Optuna"}, budget.limits(), mode, most, seed, None, DEFAULT_RULE
        )
        self.history.absorb(opened)

    def update(self, trials: Sequence[Any]) -> None:
        """Take in what is new."""
        for trial in trials:
            record = self.records.get(trial.number)
            if record is None:
                record = self._start(trial)
            if record is not None and record.state == "running":
                self._advance(trial, record)

    def _start(self, trial: Any) -> TrialRecord | None:
        config = self.config(trial)
        if config is None:
            return None
        history = self.history
        if history.ledger.exhausted_unit():
            doubled = {unit: 2 * limit for unit, limit in history.ledger.budget.limits().items()}
            history.absorb(Budgeted(history.now, doubled))
        index, arm = len(history.trials), history.arm_of.get(Codec.key(config))
        place = len(history.arms) if arm is None else arm
        replicate = 0 if arm is None else len(history.arms[arm].trials)
        seed = integer(history.seed, trial.number, "trial")
        new = config if arm is None else None
        why = f"trial {trial.number} of the Optuna study"
        history.absorb(Granted(history.now, index, place, replicate, seed, 0, self._last, why, "optuna", new))
        self.records[trial.number] = history.trials[index]
        return history.trials[index]

    def config(self, trial: Any) -> Config | None:
        """The configuration of a trial; None if it has none of this space, or not all of it yet."""
        own = {
            name: own_value(distribution, trial.params[name])
            for name, distribution in self._distributions.items()
            if name in trial.params and trial.distributions[name] == distribution
        }
        return own if self.history.codec.fits(own) else None

    def _advance(self, trial: Any, record: TrialRecord) -> None:
        history, state = self.history, trial.state.name
        for step, value in self._readings(trial):
            if record.step < step and record.state == "running":
                history.absorb(Reported(history.now, record.index, step, value))
        if record.state == "running" and state in _CLOSINGS:
            how = _CLOSINGS[state] if record.step or state == "PRUNED" else "failed"
            unread = max(max(map(self.step, trial.intermediate_values), default=0) - record.step, 0)
            history.absorb(Closed(history.now, record.index, how, "as Optuna has it", unread))

    def step(self, number: int) -> int:
        """The step of a number that was reported to Optuna."""
        return bisect_left(self._steps, number) + 1

    def _readings(self, trial: Any) -> list[tuple[int, float]]:
        """Step and value of the readings that a method sees; the last one of a trial only once it has ended."""
        sign, best, found, last = self.history.sign, math.inf, dict[int, float](), 0
        for number in sorted(trial.intermediate_values):
            last = self.step(number)
            value = trial.intermediate_values[number]
            best = min(best, sign * value) if math.isfinite(value) else best
            if last in milestones(self._last) and math.isfinite(best):
                found[last] = sign * best
        if trial.state.name == "COMPLETE" and math.isfinite(trial.value):
            found[last or self._last] = trial.value
        if not trial.state.is_finished():
            found.pop(self._last, None)
        return sorted(found.items())
