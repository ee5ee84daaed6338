"""The knowledge of one past study: which of its configurations were best, and how good another one would have been.

A process over configurations and steps is fitted to its readings (``models/curve_process.py``), as ``forecast`` does.
Losses become scores, so only their order and shape within the study matter: another metric, mode, number of steps or
unit is fine. Of a study with several objectives, the first one counts for a new study with one; for a new study with
several, the mean of their scores does, and the ends and the middle of its front are its best configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import FAILED, Arm, History
from shoestring.methods.forecast.milestones import milestones
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores, normal_scores
from shoestring.models.threads import one_thread
from shoestring.past.correspondence import Correspondence
from shoestring.spaces.codec import Codec, Config

# The best of a study, by the forecasts of their ends, are candidates for the plan.
_WINNERS = 3
# Of a long study, this many configurations are read: those that were trained furthest, and as many of the others.
_MOST_ARMS = 60


class Curve(NamedTuple):
    """A configuration of the past: in the new space, as a point, and its best losses so far by step."""

    config: Config
    point: Array
    losses: Mapping[int, float]
    failed: bool  # or never within the constraints


class PastForecast:
    """The process of a past study. ``winners`` are its best configurations, ``outside`` how many did not fit.

    ``several`` says whether the new study has several objectives, and ``of_front`` whether the past one has them too.
    """

    def __init__(self, history: History, new: Codec, guess: Mapping[str, Any], several: bool = False) -> None:
        self.same = Correspondence(new, history.codec, guess)
        self.of_front = several and history.goals.several
        self._mixed = _mixed_losses(history) if self.of_front else None
        curves = [self._curve(history, arm) for arm in _read(history)] if self.same.common else []
        self._curves = [curve for curve in curves if curve is not None]
        self.outside = len(curves) - len(self._curves)
        self.winners: list[Config] = []
        if any(curve.losses for curve in self._curves):
            self._fit(history.max_resource or 1)
        if self.of_front and self.winners:
            self.winners = self._of_front(history) or self.winners

    def _curve(self, history: History, arm: Arm) -> Curve | None:
        trial = arm.trials[0]
        config = self.same.config(arm.config)
        if config is None:
            return None
        losses = trial.losses if self._mixed is None else self._mixed[trial.index]
        found: dict[int, float] = {}
        lowest, last = math.inf, max(losses, default=0)
        wanted = {*milestones(history.max_resource or 1), last}
        for step in sorted(losses):
            lowest = min(lowest, losses[step])
            if step in wanted:
                found[step] = lowest
        bad = trial.state in FAILED or not any(map(trial.is_feasible, losses))
        return Curve(config, self.same.past_point(config, arm.config), found, bad)

    def _of_front(self, history: History) -> list[Config]:
        """The middle of the front and its ends, in the new space."""
        front, last = history.front, len(history.front) - 1
        places = dict.fromkeys([last // 2, 0, last]) if front else {}
        found = (self.same.config(front[place].trial.config) for place in places)
        return [config for config in found if config is not None]

    @one_thread()
    def _fit(self, last: int) -> None:
        self._process = CurveProcess(np.array([curve.point for curve in self._curves]), last, self.same.choices)
        losses = []
        for column, curve in enumerate(self._curves):
            given = curve.losses or ({1: math.inf} if curve.failed else {})
            for step, loss in given.items():
                self._process.add(column, step)
                losses.append(loss)
        self._w, self._scale = self._process.whiten(blended_scores(np.array(losses)))
        means = self._process.means(self._w)
        alive = [i for i, curve in enumerate(self._curves) if curve.losses and not curve.failed]
        ordered = sorted(alive, key=means.__getitem__)[:_WINNERS]
        self.winners = [self._curves[i].config for i in ordered]
        self._best = float(means[ordered[0]]) if ordered else 0.0

    @one_thread()
    def regrets(self, configs: list[Config]) -> Array:
        """Return how much worse than its best this study expects new configurations to end, as scores. Shape (n,)."""
        points = np.array([self.same.new_point(config) for config in configs])
        return self._process.forecast_points(self._w, self._scale, points)[0] - self._best


def _mixed_losses(history: History) -> dict[int, dict[int, float]]:
    """By trial and step, the mean over the objectives of the normal scores of their losses."""
    losses = np.array([history.goals.losses(trial.readings[step]) for trial, step, _ in history.readings])
    scores = np.mean([normal_scores(column) for column in losses.T], axis=0) if len(losses) else losses
    found: dict[int, dict[int, float]] = {trial.index: {} for trial in history.trials}
    for (trial, step, _), score in zip(history.readings, scores.tolist(), strict=True):
        found[trial.index][step] = score
    return found


def _read(history: History) -> list[Arm]:
    """The configurations to read: those that were trained furthest, and some of the others."""
    arms = [arm for arm in history.arms if arm.trials and (arm.trials[0].losses or arm.trials[0].state in FAILED)]
    ordered = sorted(arms, key=lambda arm: (-arm.trials[0].step, min(arm.trials[0].losses.values(), default=math.inf)))
    best, others = ordered[:_MOST_ARMS], ordered[_MOST_ARMS:]
    return best + others[:: math.ceil(len(others) / _MOST_ARMS) or 1]
