"""An arm's evaluations as sub-sampling reads them.

An evaluation is a run of an arm to a budget: with ``replicate="fresh"`` a trial of its own, with
``"resume"`` the same trial carried further. ``compare`` says what counts as one observation:

===============  ==============================================================================
``evaluations``  each evaluation is one observation, whatever its budget (the paper's text)
``samples``      every step's reading is one: an evaluation of budget b adds b of them; the only
                 interpretation that reproduces the paper's Table 1
``rung``         only readings at the same step are compared: for learning curves, whose early
                 readings say nothing about the late ones' level
===============  ==============================================================================
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.models.sub_sampling import Series, Vector

Weighting = Literal["equal", "budget", "inverse-variance"]
Comparison = Literal["evaluations", "samples", "rung"]


def warn_of_resuming(what: str, replicate: str, compare: str) -> None:
    """A resumed trial has the same seed effect each time, which averaging cannot remove."""
    if replicate == "resume" and compare != "rung":
        warnings.warn(
            f"{what} with replicate='resume' averages readings of one initialisation, so the luck of that "
            "initialisation stays; use replicate='fresh', or compare='rung'",
            UserWarning,
            stacklevel=4,
        )


@dataclass
class Record:
    """The evaluations of one arm in order, by value and budget, and their observations.

    Only added evaluations count, so a record does not depend on what has happened since.
    """

    compare: Comparison = "evaluations"
    weights: Weighting = "equal"
    values: list[float] = field(default_factory=list)
    budgets: list[int] = field(default_factory=list)
    series: Series = field(default_factory=Series)
    curves: dict[int, tuple[TrialRecord, int]] = field(default_factory=dict)
    failed: bool = False
    mean: float = math.inf

    def add(self, trial: TrialRecord, budget: int, start: int = 0) -> None:
        """Take in the evaluation of a trial at a budget; ``start`` is where it was resumed from."""
        loss = trial.loss(budget)
        assert loss is not None
        self.curves[trial.index] = trial, budget
        samples: list[float] = []
        if self.compare == "samples":
            samples = [trial.losses[step] for step in sorted(trial.losses) if start < step <= budget]
        self.take(loss, budget, samples, trial.readings.get(budget))

    def take(
        self, loss: float, budget: int, samples: Sequence[float] | Vector = (), reading: Reading | None = None
    ) -> None:
        """Take in an evaluation by its plain numbers; ``samples`` matter only where they are compared."""
        self.values.append(loss)
        self.budgets.append(budget)
        if self.compare == "rung":
            losses = self.at(budget)
            self.mean = sum(losses) / len(losses)
            return
        if self.compare == "samples":
            self.series.extend(samples)
        else:
            self.series.extend([loss], _weight(reading, budget, self.weights))
        self.mean = self.series.mean()

    def fail(self) -> None:
        """A failed arm never leads and never has potential."""
        self.failed, self.mean = True, math.inf

    @property
    def count(self) -> int:
        """n_k."""
        return len(self.series) if self.compare == "samples" else len(self.values)

    def at(self, step: int) -> list[float]:
        """The losses at one step of the trials that were evaluated at least that far."""
        found = [trial.loss(step) for trial, budget in self.curves.values() if budget >= step]
        return [loss for loss in found if loss is not None]

    def extent(self) -> tuple[int, int]:
        """Return the properties that another arm's stretch has to match: the number of observations, and on a rung the
        step.
        """
        if self.compare == "rung":
            return len(self.at(self.budgets[-1])), self.budgets[-1]
        return self.count, 0

    def worst_stretch(self, length: int, step: int) -> float:
        """Compute the largest mean of this number of the arm's observations in a row."""
        if self.compare == "rung":
            return Series(self.at(step) or [self.values[-1]]).largest_window_mean(length)
        return self.series.largest_window_mean(length)


def _weight(reading: Reading | None, budget: int, weights: Weighting) -> float:
    """1, the budget, or 1/variance: from the reading's 95 % bounds, else as 1/variance grows with the budget."""
    if weights == "equal":
        return 1.0
    if weights == "inverse-variance" and reading and reading.low is not None and reading.high is not None:
        width = (reading.high - reading.low) / (2 * 1.96)
        return 1 / max(width * width, 1e-12)
    return float(budget)


def leader_of(records: Sequence[Record]) -> Record | None:
    """ζ: the arm with the most observations, then the lowest mean, then the earliest; None if all failed."""
    usable = [record for record in records if record.values and not record.failed]
    return min(usable, key=lambda record: (-record.count, record.mean)) if usable else None


def worst_stretches(leader: Record) -> Callable[[Record], float]:
    """The leader's worst stretch as long as another's record; few lengths occur, each is looked at once."""
    known: dict[tuple[int, int], float] = {}

    def worst(other: Record) -> float:
        extent = other.extent()
        if extent not in known:
            known[extent] = leader.worst_stretch(*extent)
        return known[extent]

    return worst
