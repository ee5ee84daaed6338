"""Forecasts of the ends of all trials of an Optuna study, from their learning curves.

======== =========================================================================
T        the last step of a full training
u        the best losses so far at milestones of all trials, as scores
mean     of the end of a trial's curve at T, as a score
======== =========================================================================

It is the process of the method ``forecast`` (``models/curve_process.py``) with nothing imputed: Optuna asks about a
trial that has just reported.
"""

from __future__ import annotations

import math

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import Cursor, History, TrialRecord
from shoestring.methods.forecast.milestones import milestones
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores
from shoestring.models.threads import one_thread

# The process holds at most about this many readings; beyond, it is built again from the best trials.
_MOST_READINGS, _MOST_TRIALS = 2000, 300


class CurveForecasts:
    """The process over the trials of a history; it follows the history, reading by reading."""

    def __init__(self, history: History) -> None:
        self._codec, self._last = history.codec, history.max_resource or 1
        self._new = Cursor()
        self._forget()

    def _forget(self) -> None:
        choices = tuple(bool(n) for n in self._codec.choices)
        self._process = CurveProcess(np.zeros((0, self._codec.dimensions)), self._last, choices)
        self._columns: dict[int, int] = {}
        self._points: list[Array] = []
        self._losses: list[float] = []

    @one_thread()
    def ends(self, history: History, trial: TrialRecord) -> tuple[Array, Array, int]:
        """Mean and standard deviation of all ends that are followed, and the place of this trial among them."""
        for one, step, _ in self._new.new(history.readings):
            self._take_in(one, step)
        if len(self._losses) > _MOST_READINGS or trial.index not in self._columns:
            self._condense(history, trial)
        weights, scale = self._process.whiten(blended_scores(np.array(self._losses)))
        mean, deviation = self._process.forecast_points(weights, scale, np.array(self._points))
        return mean, deviation, self._columns[trial.index]

    def _take_in(self, trial: TrialRecord, step: int) -> None:
        if step not in milestones(self._last):
            return
        if trial.index not in self._columns:
            point = self._codec.encode(trial.config)
            self._columns[trial.index] = self._process.add_column(point)
            self._points.append(point)
        self._process.add(self._columns[trial.index], step)
        self._losses.append(best_loss(trial, step))

    def _condense(self, history: History, trial: TrialRecord) -> None:
        """Follow only the best trials, and the trial in question."""
        others = [one for one in history.trials if one.losses and one is not trial]
        self._forget()
        for one in (*sorted(others, key=lambda each: best_loss(each, each.step))[:_MOST_TRIALS], trial):
            for step in sorted(one.losses):
                self._take_in(one, step)


def best_loss(trial: TrialRecord, step: int) -> float:
    """The best loss of a trial up to a step; infinite if it has none."""
    return min((loss for at, loss in trial.losses.items() if at <= step), default=math.inf)


def chance_to_be_among(best: int, mean: Array, deviation: Array, place: int) -> float:
    """The probability that the end at this place is better than all but this many of the other means.

    >>> import numpy as np
    >>> chance_to_be_among(1, np.array([0.0, 1.0, 2.0]), np.ones(3), 1)
    0.15865525393145707
    >>> chance_to_be_among(3, np.array([0.0, 1.0, 2.0]), np.ones(3), 1)
    1.0
    """
    from scipy.special import ndtr  # here because SciPy loads slowly and the first trials do not need it

    others = np.sort(np.delete(mean, place))
    if best > len(others):
        return 1.0
    return float(ndtr((others[best - 1] - mean[place]) / max(deviation[place], 1e-12)))
