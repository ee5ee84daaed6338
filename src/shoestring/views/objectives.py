"""A study by one of its objectives, for what shows one number of each reading: curves, importance, slices."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from shoestring.core.goals import Goals, number_of
from shoestring.core.history import History
from shoestring.core.readings import Reading
from shoestring.core.recommendation import feasible_part, recommend
from shoestring.core.weighing import with_losses
from shoestring.errors import MethodError
from shoestring.views.trace import Trace


def by_objective(trace: Trace, objective: str | None) -> Trace:
    """The trace as if the readings had this objective alone; None for the study as it is."""
    goals = trace.history.goals
    if objective is None:
        return trace
    if objective not in goals.names:
        raise MethodError(f"{objective!r} is not an objective of this study; they are {', '.join(goals.names)}")
    if not goals.several:
        return trace
    seen = copy(trace)
    seen.history = _project(trace.history, objective)
    return seen


def value_name(trace: Trace) -> str:
    """The name of the one number that is shown of each reading: its first objective, or "value"."""
    goals = trace.history.goals
    return goals.names[0] if goals.named else "value"


def _project(history: History, objective: str) -> History:
    goals = history.goals
    sign = goals.signs[goals.names.index(objective)]
    losses = [sign * number_of(trial.readings[step], objective) for trial, step, _ in history.readings]
    view = with_losses(history, np.array(losses), Goals((objective,), (sign,), goals.constraints, named=True))
    rule = "best" if history.opened.recommend == "auto" else history.opened.recommend  # a method knows the whole study
    view.opened = replace(view.opened, recommend=rule)
    for trial in view.trials:
        trial.readings = {step: _by(reading, objective) for step, reading in trial.readings.items()}
        trial.recommended = recommend(rule, feasible_part(trial) or trial.losses)
    feasible = [reading for reading in view.readings if reading[0].is_feasible(reading[1])]
    view.lowest = min(feasible, key=lambda reading: reading[2], default=None)
    return view


def _by(reading: Reading, objective: str) -> Reading:
    """The reading with this objective as its value; bounds are those of the first one."""
    value = number_of(reading, objective)
    bounds = (reading.low, reading.high) if value == reading.value else (None, None)
    return Reading(value, *bounds, reading.cost, **reading.metrics)
