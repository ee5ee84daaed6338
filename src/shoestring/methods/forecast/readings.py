"""The readings in the process: those that are there, and those that are expected from running trials."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.events import Granted
from shoestring.methods.forecast.columns import Columns
from shoestring.models.continued_process import ContinuedProcess
from shoestring.models.curve_process import CurveProcess

# The process holds at most this many readings; beyond, half are kept: the last ones of the best trials. Of the failed
# trials at most an eighth is kept: they say where not to look.
_MOST_READINGS = 2000
# At most this many running trials are imputed, the last ones that were granted: their cost grows with their square.
_MOST_EXPECTED = 128


class Readings:
    """The process, and per reading in it: its column, its step and the best loss so far there.

    The next reading of a running trial is imputed with the posterior mean, until it is there or the trial ends.
    ``new_process`` makes a process of the points of the columns, and ``misses(arm, step)`` says whether the reading of
    an arm violates a constraint that is modelled.
    """

    def __init__(
        self,
        columns: Columns,
        new_process: Callable[[Array], CurveProcess],
        misses: Callable[[int, int], bool],
    ) -> None:
        self._columns, self._new_process, self._misses = columns, new_process, misses
        self.process = new_process(columns.points)
        self.places: list[tuple[int, int]] = []
        self._losses: list[float] = []
        # By trial, the grants whose last readings are imputed.
        self._expected: dict[int, Granted] = {}

    @property
    def columns(self) -> Codes:
        return np.array([column for column, _ in self.places])

    @property
    def losses(self) -> Array:
        return np.array(self._losses)

    def add(self, column: int, step: int, loss: float, due: int | None = None) -> None:
        """Add a reading; ``due`` is the trial that it was expected from, if it was."""
        if len(self._losses) == _MOST_READINGS:
            self._condense()
        self.process.add(column, step, due)
        self._losses.append(loss)
        self.places.append((column, step))

    def expect(self, grant: Granted) -> None:
        """Impute the reading at the end of a grant."""
        if len(self._expected) == _MOST_EXPECTED:
            self.forget(next(iter(self._expected)))
        self._expected[grant.trial] = grant
        self._impute(self.process, grant)

    def due(self, trial: int, step: int) -> int | None:
        """The trial, if this is the step at which a reading of it is expected."""
        grant = self._expected.get(trial)
        return trial if grant is not None and step >= grant.until else None

    def forget(self, trial: int) -> None:
        """Expect no reading of a trial."""
        if self._expected.pop(trial, None) is not None:
            self.process.forget(trial)

    def continue_process(self, kept: list[ContinuedProcess]) -> None:
        """Continue the process that the last decision kept, if it had the same readings so far, and keep this one."""
        if isinstance(self.process, ContinuedProcess):
            self.process = self.process.after(kept[0]) if kept and kept[0] is not self.process else self.process
            kept[:] = [self.process]

    def _impute(self, process: CurveProcess, grant: Granted) -> None:
        column, point = self._columns.locate(grant.arm)
        process.expect(grant.trial, grant.until, column, point)

    def _condense(self) -> None:
        """Keep half of the readings, the last ones of the best trials, so that time and memory stay bounded.

        With several objectives losses are other ones at each decision, so the trials that were trained longest count as
        the best: they were best for some weights. Where constraints are modelled, trials whose last reading violates
        one come after all others: they are not what has to be improved on.
        """
        last = {column: (loss, column, step) for (column, step), loss in zip(self.places, self._losses, strict=True)}
        ordered = sorted(last.values())
        if isinstance(self.process, ContinuedProcess):
            ordered.sort(key=lambda reading: (-reading[2], reading[1]))
        ordered.sort(key=lambda reading: self._misses(self._columns.arm_at[reading[1]].index, reading[2]))
        failed = [reading for reading in ordered if reading[0] == math.inf][-_MOST_READINGS // 8 :]
        living = [reading for reading in ordered if reading[0] < math.inf][: _MOST_READINGS // 2 - len(failed)]
        self.process = self._new_process(self._columns.points)
        self._losses, self.places = [], []
        for loss, column, step in living + failed:
            self.add(column, step, loss)
        for grant in self._expected.values():
            self._impute(self.process, grant)
