"""The value of each configuration of a study, for plots of what the parameters do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.budget import format_amount
from shoestring.core.history import FAILED, Arm, History
from shoestring.core.observations import observe
from shoestring.errors import MethodError
from shoestring.plots.picture import bound
from shoestring.spaces.axes import Axis
from shoestring.views.trace import Trace

# A forest says nothing about fewer configurations than this.
FEWEST = 10
# Which reading of a configuration counts: its recommended one, the one at the last step, the one at the furthest step
# that many have reached, or the one at a step.
Step = int | Literal["best", "final", "common"]


@dataclass(frozen=True, eq=False)
class ConfigurationValues:
    """The configurations with a value, as points of the unit cube and losses; ``trials`` has a trial of each.

    ``full`` is whether it was trained to the last step, and ``where`` says which readings these are, ``step`` at which
    step: 0 for what is recommended of each trial.
    """

    points: Array
    losses: Array
    trials: Codes
    full: Mask
    where: str
    step: int
    axes: list[Axis]


def configuration_values(trace: Trace, step: Step) -> ConfigurationValues:
    history = trace.history
    seen = observe(history)
    losses, found = _losses(history, step)
    where = f"at step {found}" if found else "" if (history.max_resource or 1) == 1 else "at their best readings"
    known = ~np.isnan(losses)
    points = seen.points[known] if len(seen) else np.zeros((0, history.codec.dimensions))
    drawn = np.array([bound(loss) for loss in losses[known]])
    trials = np.array([_longest_trial(arm) for arm, there in zip(history.arms, known, strict=True) if there], dtype=int)
    last = history.max_resource or 1
    full = seen.reached[known] >= last if len(seen) else np.zeros(0, dtype=bool)
    words = f"{format_amount('configurations', len(drawn))} {where}".strip()
    return ConfigurationValues(points, drawn, trials, full, words, found, history.codec.axes)


def _losses(history: History, step: Step) -> tuple[Array, int]:
    """Per arm the loss that counts, NaN where there is none, and at which step; 0 for the recommended one."""
    seen, last = observe(history), history.max_resource or 1
    if step == "best":
        return np.array([_mean_recommendation(arm) for arm in history.arms], dtype=float), 0
    if step == "common":
        enough = max(min(len(seen), FEWEST), len(seen) // 5)
        found = (len(seen) and seen.furthest_step(enough)) or seen.furthest_step(1)
    elif step == "final":
        found = last
    elif isinstance(step, int) and step > 0:
        found = step
    else:
        raise MethodError(f"step is {step!r}; it must be 'best', 'final', 'common' or the number of a step")
    return seen.losses(found) if found else np.full(len(seen), np.nan), found


def _mean_recommendation(arm: Arm) -> float:
    """The mean over the trials of an arm of what is recommended of each; NaN without any."""
    found = [t.recommended.loss for t in arm.trials if t.recommended is not None and t.state not in FAILED]
    return sum(found) / len(found) if found else np.nan


def _longest_trial(arm: Arm) -> int:
    """Find the trial of an arm that a point stands for: the longest trained one."""
    return max(arm.trials, key=lambda trial: trial.step).index
