"""Which configuration a study recommends, at which step, and by which rule.

The readings of one trial are judged by one of three rules:

====== ==========================================================================================================
best   its best reading, at the step where it was taken
median the best running median of three readings, at the step of the last of the three; of two readings the worse
       one counts, and a single one counts as it is
last   its last reading
====== ==========================================================================================================

A configuration is trained several times where its readings are noisy. The best of many readings would then be luck, so
by every rule the mean over its trials at the furthest step that any trial of the study reached decides.

Ties, which error rates often have, go to the later step, as that has been trained for longer; then to the earlier
configuration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from shoestring._other_names import ExplainsNames
from shoestring._tables import pairs_table
from shoestring.core.events import Rule
from shoestring.errors import EverythingFailed, MethodError
from shoestring.spaces.codec import copied

if TYPE_CHECKING:
    from shoestring.core.history import History, TrialRecord

RULES: tuple[Rule, ...] = get_args(Rule)
# What a new study recommends by if it is not told.
DEFAULT_RULE: Rule = "best"


@dataclass(frozen=True)
class Best(ExplainsNames):
    """What a study recommends: a configuration, and the step at which to take its checkpoint.

    ``value`` is what the rule found at ``step``; of a configuration with several trials it is the mean over them,
    ``error`` is the standard error of that mean (None with a single trial), and ``trial`` is the one with the best
    reading. ``study.directory(best=True)`` holds the checkpoint.
    """

    arm: int
    trial: int
    config: dict[str, Any]
    value: float
    error: float | None
    step: int

    def _repr_html_(self) -> str:
        error = {} if self.error is None else {"standard error": self.error}
        at = {"step": self.step, "trial": self.trial, "configuration": self.arm}
        return pairs_table("Best", {"value": self.value, **error, **at, **self.config})


class Recommended(NamedTuple):
    """What a rule makes of one trial: a loss, and the step at which to take its checkpoint."""

    loss: float
    step: int


def check_rule(rule: object) -> None:
    if rule not in RULES:
        raise MethodError(f"recommend is {rule!r}; it must be one of {', '.join(map(repr, RULES))}")


def updated(rule: Rule, so_far: Recommended | None, losses: dict[int, float]) -> Recommended:
    """The recommendation of a trial after its latest reading; ``losses`` are in the order of their steps."""
    if rule == "median":
        return _updated_median(so_far, losses)
    step = next(reversed(losses))
    if so_far is None or rule == "last" or losses[step] <= so_far.loss:
        return Recommended(losses[step], step)
    return so_far


def _updated_median(so_far: Recommended | None, losses: dict[int, float]) -> Recommended:
    window = list(islice(reversed(losses.items()), 3))[::-1]
    latest = Recommended(sorted(loss for _, loss in window)[len(window) // 2], window[-1][0])
    # A median of fewer than three readings counts only until there are three.
    return latest if so_far is None or len(losses) <= 3 or latest.loss <= so_far.loss else so_far


def recommended(rule: Rule, losses: dict[int, float]) -> Recommended | None:
    """The recommendation of a trial with these readings; None without any."""
    found: Recommended | None = None
    seen: dict[int, float] = {}
    for step, loss in losses.items():
        seen[step] = loss
        found = updated(rule, found, seen)
    return found


def required_best(history: History) -> Best:
    """What a study recommends; an error that shows the first failure if there is nothing to recommend."""
    found = history.best()
    if found is None:
        raise EverythingFailed(_first_failure(history))
    return found


def _first_failure(history: History) -> str:
    failed = next((trial for trial in history.closings if trial.state != "finished"), None)
    if failed is None:
        return "there is no reading yet"
    return (
        f"no trial gave a usable reading; {len(history.closings)} ended without one, "
        f"the first (trial {failed.index}, {failed.config}) as {failed.state}: {failed.message}"
    )


def best_of(history: History, rule: Rule) -> Best | None:
    """What a history recommends by a rule; None without a reading."""
    if len(history.trials) > len(history.arms):
        return _best_mean(history)
    own = rule == history.opened.recommend
    found: tuple[Recommended, TrialRecord] | None = None
    for trial in history.trials:
        judged = trial.recommended if own else recommended(rule, trial.losses)
        if judged is not None and (found is None or (judged.loss, -judged.step) < (found[0].loss, -found[0].step)):
            found = judged, trial
    if found is None:
        return None
    (loss, step), trial = found
    return Best(trial.arm, trial.index, copied(trial.config), history.sign * loss, None, step)


def _best_mean(history: History) -> Best | None:
    """The arm with the lowest mean loss at the furthest step that any trial reached."""
    step = max(trial.step for trial in history.trials)
    found: tuple[float, list[TrialRecord]] | None = None
    for arm in history.arms:
        there = [trial for trial in arm.trials if step in trial.losses]
        if there:
            mean = sum(trial.losses[step] for trial in there) / len(there)
            if found is None or mean < found[0]:
                found = mean, there
    if found is None:
        return None
    mean, there = found
    n, trial = len(there), min(there, key=lambda trial: trial.losses[step])
    error = math.sqrt(sum((t.losses[step] - mean) ** 2 for t in there) / (n - 1) / n) if n > 1 else None
    return Best(trial.arm, trial.index, copied(trial.config), history.sign * mean, error, step)
