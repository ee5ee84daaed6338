"""Stop a trial whose confidence interval says that it cannot win.

Lu, On applications of multi-armed bandit and Bayesian optimization approaches for AutoML problems, MSc thesis,
University of Alberta, 2021, section 4.2.4:

======  ==========================================================================================
A       stop if the better end of the reading's interval is worse than the best reading of a trial
        that had all its steps
B       stop if it has had more than ``patience`` steps and its reading is worse than the reading of the best
        quarter of the latest readings of all trials so far, stopped ones included
======  ==========================================================================================

A trial is continued one step at a time, so that each reading can stop it. A reading without ``low`` and
``high`` is its own interval: then rule A compares the readings themselves, which suits curves that do not get
better, and should be off (``bounds=False``) for those that do.

Differs from the thesis in nothing but the choice of words: rewards are losses here, so that its upper bound
is our lower one and its 75th percentile our 25th.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Continue, Decision, Done, Start, Wait
from shoestring.core.history import Cursor, History, TrialRecord
from shoestring.core.options import check_number, check_whole
from shoestring.schedulers.rungs import top_resource


@dataclass(frozen=True)
class ConfidenceStop:
    """Continue every trial step by step for as long as it may still win.

    ``bounds`` is rule A. ``quantile`` is the share of the latest readings that rule B asks a trial to be among,
    from its step ``patience`` + 1 on; None turns rule B off.
    """

    bounds: bool = True
    quantile: float | None = 0.25
    patience: int = 3
    reference: ClassVar[str] = (
        "Lu, On applications of multi-armed bandit and Bayesian optimization approaches for AutoML problems, "
        "MSc thesis, University of Alberta, 2021, section 4.2.4"
    )

    def __post_init__(self) -> None:
        if self.quantile is not None:
            check_number(self, "quantile", "a share between 0 and 1, or None for no such rule", 0, 1, "()")
        check_whole(self, "a number of steps, a whole number", patience=0)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "confidence stop")
        standing = history.cached(("confidence stop", self), lambda: _Standing(top, self)).update(history)
        trial = standing.first()
        if trial is not None:
            reason = f"it may still win after {trial.step} of {top} steps"
            return Continue(trial.index, trial.step + 1, reason)
        if may_start:
            return Start(1, "no trial that may win is waiting, so a new configuration")
        if history.running:
            return Wait("running trials may still win")
        return Done("nothing is left to start, and no trial that may win to continue")


class _Standing:
    """The trials that may still win. A trial is judged once, when its reading arrives, by what is known then."""

    def __init__(self, top: int, rules: ConfidenceStop) -> None:
        self._top, self._rules = top, rules
        self._best = math.inf
        self._own: dict[int, float] = {}
        self._latest: list[float] = []
        self._standing: dict[int, tuple[TrialRecord, float]] = {}
        self._readings = Cursor()

    def update(self, history: History) -> _Standing:
        for trial, step, loss in self._readings.new(history.readings):
            if trial.index in self._own:
                del self._latest[bisect_left(self._latest, self._own[trial.index])]
            insort(self._latest, loss)
            self._own[trial.index] = loss
            if step >= self._top:
                self._best = min(self._best, loss)
            reading = trial.readings[step]
            end = reading.low if history.sign > 0 else reading.high
            optimistic = loss if end is None else history.sign * end
            self._standing[trial.index] = trial, optimistic
            if step >= self._top or self._falls_behind(step, loss):
                del self._standing[trial.index]
        return self

    def _falls_behind(self, step: int, loss: float) -> bool:
        """Rule B."""
        share = self._rules.quantile
        return share is not None and step > self._rules.patience and loss > _quantile(self._latest, share)

    def first(self) -> TrialRecord | None:
        """The earliest trial that waits and may still win."""
        if self._rules.bounds:  # rule A; the best complete reading only gets better, so this too is for good
            beaten = [index for index, (_, optimistic) in self._standing.items() if optimistic > self._best]
            for index in beaten:
                del self._standing[index]
        waiting = [trial for trial, _ in self._standing.values() if trial.state == "paused"]
        return min(waiting, key=lambda trial: trial.index, default=None)


def _quantile(ordered: list[float], share: float) -> float:
    """Linear between the sorted values.

    >>> _quantile([1.0, 2.0, 3.0, 5.0, 9.0], 0.25), _quantile([1.0, 2.0], 0.25)
    (2.0, 1.25)
    """
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
