"""The arms of a study as arrays for models, updated incrementally as the log grows.

They follow from the history alone, and cost a few operations per new event rather than a pass over all arms:

>>> import shoestring as ss
>>> from shoestring.core.observations import observe
>>> study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(evaluations=3), method="random")
>>> while (grant := study.ask()) is not None:
...     study.tell(grant, float(grant.trial))
>>> observe(study.history).losses(1)
array([0., 1., 2.])
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.history import FAILED, Arm, Cursor, History, TrialRecord

# For how many steps losses are kept up to date at the same time: samplers may fit at different steps of one study.
_KEPT_STEPS = 8


def observe(history: History) -> Observations:
    """The arms of a study as arrays, as of now."""
    seen = history.cached("observations", Observations).update(history)
    return seen if history.compared is None else seen.before(history.compared)


class Observations:
    """One row per arm, in log order. The arrays are views: read them, and ask again after new events.

    =========  =======  ==============================================================
    points     (n, d)   the arm in the unit cube, NaN where a parameter is inactive
    reached    (n,)     the furthest step of a trial that did not fail; one that finished
                        early counts as having reached the last step, as its loss stays
    failed     (n,)     every trial of the arm failed or was lost
    pending    (n,)     a trial of the arm is running
    last       (n,)     the number of its last reading among all readings, from 1; 0 if none
    last_loss  (n,)     the loss of that reading
    =========  =======  ==============================================================
    """

    points: Array
    reached: Codes
    failed: Mask
    pending: Mask
    last: Codes
    last_loss: Array

    def __init__(self) -> None:
        self._room: dict[str, NDArray[Any]] = {
            "points": np.empty((0, 0)),
            "reached": np.empty(0, dtype=np.int64),
            "failed": np.empty(0, dtype=bool),
            "last": np.empty(0, dtype=np.int64),
            "last_loss": np.empty(0),
        }
        self._count = 0
        self._columns: dict[int, Array] = {}
        self._arms: list[Arm] = []
        self._known: int | None = None
        self._new_arms, self._trials, self._readings, self._closings = (Cursor() for _ in range(4))

    def __len__(self) -> int:
        return len(self.reached)

    def update(self, history: History) -> Observations:
        """Read what is new in the history."""
        self._arms = history.arms
        self._take_in_points(history)
        for index in self._changed_arms(history):
            self._refresh(index, history.max_resource)
        n = len(history.arms)
        for name, array in self._room.items():
            setattr(self, name, array[:n])
        self.pending = np.zeros(n, dtype=bool)
        self.pending[[trial.arm for trial in history.running.values()]] = True
        return self

    def _take_in_points(self, history: History) -> None:
        new, n = self._new_arms.new(history.arms), len(history.arms)
        if not new:
            return
        if len(new) == n:
            self._room["points"] = self._room["points"].reshape(0, history.codec.dimensions)
        self._room = {name: with_room(array, n) for name, array in self._room.items()}
        self._columns = {step: with_room(column, n) for step, column in self._columns.items()}
        for arm in new:
            self._room["points"][arm.index] = history.codec.encode(arm.config)

    def _changed_arms(self, history: History) -> set[int]:
        """The arms with new events."""
        changed = {trial.arm for trial in self._trials.new(history.trials)}
        for trial, _, loss in self._readings.new(history.readings):
            changed.add(trial.arm)
            self._count += 1
            self._room["last"][trial.arm], self._room["last_loss"][trial.arm] = self._count, loss
        changed.update(trial.arm for trial in self._closings.new(history.closings))
        return changed

    def _refresh(self, index: int, last: int | None) -> None:
        """An arm's row is recomputed from its trials, so it cannot depend on when it was read."""
        arm = self._arms[index]
        self._room["reached"][index] = max(_last_step(trial, last) for trial in arm.trials)
        self._room["failed"][index] = all(trial.state in FAILED for trial in arm.trials)
        for step, column in self._columns.items():
            column[index] = _mean_loss(arm, step)

    def before(self, arm: int) -> Observations:
        """Return the observations of the arms before this one, as if all others were running."""
        view = copy(self)
        for name, unknown in (("reached", 0), ("failed", False), ("pending", True), ("last", 0)):
            column = getattr(self, name).copy()
            column[arm:] = unknown
            setattr(view, name, column)
        view._known = arm  # noqa: SLF001  a copy of our own class
        return view

    def losses(self, step: int) -> Array:
        """Per arm, the mean loss at a step over its trials; NaN where there is none. Shape (n,).

        A trial that finished early keeps its last loss. Trials that failed do not count.
        """
        if step not in self._columns:
            if len(self._columns) == _KEPT_STEPS:
                del self._columns[next(iter(self._columns))]
            column = np.array([_mean_loss(arm, step) for arm in self._arms], dtype=float)
            self._columns[step] = with_room(column, len(self._room["reached"]))
        column = self._columns[step][: len(self)]
        return column if self._known is None else np.where(np.arange(len(self)) < self._known, column, np.nan)

    def loss(self, arm: int, step: int) -> float:
        """The mean loss of one arm at a step over its trials, as in :meth:`losses`."""
        return _mean_loss(self._arms[arm], step)

    def furthest_step(self, enough: int) -> int:
        """The largest step at which at least ``enough`` arms have a loss; 0 if there is none."""
        place = len(self) - enough
        if place < 0:
            return 0
        step = int(np.partition(self.reached, place)[place])
        # An arm whose only reading is at its last step has no loss at the steps before.
        while step and np.count_nonzero(~np.isnan(self.losses(step))) < enough:
            step = int(self.reached[self.reached < step].max(initial=0))
        return step


def _last_step(trial: TrialRecord, last: int | None) -> int:
    if trial.state in FAILED:
        return 0
    return max(trial.step, last or 0) if trial.state == "finished" else trial.step


def _mean_loss(arm: Arm, step: int) -> float:
    found = [trial.loss(step) for trial in arm.trials if trial.state not in FAILED]
    losses = [loss for loss in found if loss is not None]
    return sum(losses) / len(losses) if losses else math.nan


def with_room(array: NDArray[Any], n: int) -> NDArray[Any]:
    """The array with room for n rows: at least doubled when it grows, so that growing stays cheap."""
    if len(array) >= n:
        return array
    grown = np.zeros((max(n, 2 * len(array), 16), *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
