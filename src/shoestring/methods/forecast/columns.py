"""The configurations whose ends are forecast, as arrays with one column each."""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array, Mask
from shoestring.core.history import FAILED, Arm, History, TrialRecord
from shoestring.methods.learning_curves import Pool


class Columns:
    """The pool first, then arms that are not in it, in the order of their first readings.

    ======== ============================================================================= =========
    points   the configurations, in the unit cube                                          (m, d)
    step     how far the arm's first trial is; 0 where nothing was started                 (m,)
    paused   whether that trial is paused and worth continuing                             (m,)
    failed   whether that trial failed                                                     (m,)
    again    the steps of a result from elsewhere: they are run again if it continues here (m,)
    ======== ============================================================================= =========

    ``arm_at`` has the started columns with their arms, in the order of the first readings, and ``of_arm`` the column
    of an arm.
    """

    def __init__(self, history: History, size: int) -> None:
        self.pool = Pool(history, size)
        self._arms, self._encode = history.arms, history.codec.encode
        self.points: Array = self.pool.points
        self.step = np.zeros(len(self.pool), dtype=np.int64)
        self.paused = np.zeros(len(self.pool), dtype=bool)
        self.failed = np.zeros(len(self.pool), dtype=bool)
        self.again = np.zeros(len(self.pool), dtype=np.int64)
        self.of_arm: dict[int, int] = {}
        self.arm_at: dict[int, Arm] = {}

    def locate(self, index: int) -> tuple[int | None, Array]:
        """The column of an arm, None if it has none, and its point."""
        config = self._arms[index].config
        column = self.of_arm.get(index)
        column = self.pool.index(config) if column is None else column
        return column, self._encode(config) if column is None else self.points[column]

    def start(self, index: int) -> Array | None:
        """Follow an arm from its first reading on. The point of the new column, if it needs one."""
        if index in self.of_arm:
            return None
        column, point = self.locate(index)
        added = column is None
        if column is None:
            column = len(self.points)
            self.points = np.vstack([self.points, point[None]])
            self.step, self.again = np.append(self.step, 0), np.append(self.again, 0)
            self.paused, self.failed = np.append(self.paused, False), np.append(self.failed, False)
        self.of_arm[index], self.arm_at[column] = column, self._arms[index]
        return point if added else None

    def update(self, index: int, repeats: bool, last: int) -> None:
        """Take over the state of an arm's first trial; one that repeats another arm is not worth continuing."""
        trial, column = self._arms[index].trials[0], self.of_arm[index]
        self.step[column] = trial.step
        self.paused[column] = trial.state == "paused" and trial.step < last and not repeats
        self.failed[column] = trial.state in FAILED
        self.again[column] = trial.step if trial.foreign else 0

    def trial(self, column: int) -> TrialRecord:
        return self.arm_at[column].trials[0]

    @property
    def trials(self) -> dict[int, TrialRecord]:
        """The first trial of each started column."""
        return {column: arm.trials[0] for column, arm in self.arm_at.items()}

    @property
    def trainable(self) -> Mask:
        """Return which columns can be started or continued."""
        mask = self.paused.copy()
        mask[: len(self.pool)] |= self.pool.untried
        return mask
