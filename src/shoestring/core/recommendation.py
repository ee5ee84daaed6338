"""The configuration and the step that a study recommends, and the rules for it.

The readings of one trial are judged by one of these rules:

====== ==========================================================================================================
best   its best reading, at the step where it was taken
median the best running median of three readings, at the step of the last of the three; of two readings the worse
       one counts, and a single one counts itself
last   its last reading
auto   its best reading; and a method that tells noise from signal may recommend another trial (:class:`HasAdvice`)
====== ==========================================================================================================

A configuration is trained several times where its readings are noisy. The best of many readings would then be luck, so
by every rule the mean over its trials at the furthest step that any trial of the study reached decides.

Ties, which error rates often have, go to the later step, as that has been trained for longer; then to the earlier
configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args, runtime_checkable

from shoestring._other_names import ExplainsNames
from shoestring._tables import ShownAsTable
from shoestring.core.events import Rule
from shoestring.core.front import describe_misses, require_front, weighted_best
from shoestring.errors import EverythingFailed, MethodError
from shoestring.spaces.codec import deep_copy

if TYPE_CHECKING:
    from shoestring.core.history import History, TrialRecord

RULES: tuple[Rule, ...] = get_args(Rule)
# The rule of a new study by default.
DEFAULT_RULE: Rule = "auto"
# How many readings a running median is of.
_MEDIAN_OF = 3


@dataclass(frozen=True)
class Best(ShownAsTable, ExplainsNames):
    """The recommendation of a study: a configuration, and the step at which to take its checkpoint.

    ``value`` is what the rule found at ``step``; of a configuration with several trials it is the mean over them,
    ``error`` is the standard error of that mean (None with a single trial), and ``trial`` is the one with the best
    reading. ``expected`` is what the method expects of the configuration without the noise, if it recommended it for
    that (None otherwise). ``study.directory(best=True)`` holds the checkpoint.
    """

    arm: int
    trial: int
    config: dict[str, Any]
    value: float
    error: float | None
    step: int
    expected: float | None = None

    def _pairs(self) -> tuple[str, dict[str, Any]]:
        error = {} if self.error is None else {"standard error": self.error}
        error |= {} if self.expected is None else {"expected": self.expected}
        at = {"step": self.step, "trial": self.trial, "configuration": self.arm}
        return "Best", {"value": self.value, **error, **at, **self.config}


@dataclass(frozen=True)
class Advice:
    """The arm that a method recommends, and the loss that it expects of it."""

    arm: int
    loss: float


@runtime_checkable
class HasAdvice(Protocol):
    """A method, or a sampler, that can tell a good configuration from a lucky reading."""

    def recommend(self, history: History) -> Advice | None:
        """Recommend by the history alone; None if the best reading can be trusted."""
        ...


class Recommended(NamedTuple):
    """The result of a rule for one trial: a loss, and the step at which to take its checkpoint."""

    loss: float
    step: int


def check_rule(rule: object) -> None:
    if rule not in RULES:
        raise MethodError(f"recommend is {rule!r}; it must be one of {', '.join(map(repr, RULES))}")


def update(rule: Rule, so_far: Recommended | None, losses: dict[int, float]) -> Recommended:
    """The recommendation of a trial after its latest reading; ``losses`` are in the order of their steps."""
    if rule == "median":
        return _update_median(so_far, losses)
    step = next(reversed(losses))
    if so_far is None or rule == "last" or losses[step] <= so_far.loss:
        return Recommended(losses[step], step)
    return so_far


def update_feasible(rule: Rule, trial: TrialRecord) -> Recommended:
    """The recommendation of a trial after its latest reading: of its feasible readings, if it has any."""
    so_far, latest = trial.recommended, next(reversed(trial.losses))
    if not trial.violations:
        return update(rule, so_far, trial.losses)
    known = so_far if so_far is not None and trial.is_feasible(so_far.step) else None  # of feasible readings
    if trial.is_feasible(latest):
        return update(rule, known, _last_feasible(trial) if rule == "median" else {latest: trial.losses[latest]})
    return known or update(rule, so_far, trial.losses)


def _last_feasible(trial: TrialRecord) -> dict[int, float]:
    """The losses at the last steps that are feasible, as many as a running median depends on."""
    steps = islice(filter(trial.is_feasible, reversed(trial.losses)), _MEDIAN_OF + 1)
    return {step: trial.losses[step] for step in reversed(list(steps))}


def feasible_part(trial: TrialRecord) -> dict[int, float]:
    """The losses of a trial at the steps where it fulfils the constraints."""
    return {step: loss for step, loss in trial.losses.items() if trial.is_feasible(step)}


def _update_median(so_far: Recommended | None, losses: dict[int, float]) -> Recommended:
    window = list(islice(reversed(losses.items()), _MEDIAN_OF))[::-1]
    latest = Recommended(sorted(loss for _, loss in window)[len(window) // 2], window[-1][0])
    # A median of fewer than three readings counts only until there are three.
    return latest if so_far is None or len(losses) <= _MEDIAN_OF or latest.loss <= so_far.loss else so_far


def recommend(rule: Rule, losses: dict[int, float]) -> Recommended | None:
    """The recommendation of a trial with these readings; None without any."""
    found: Recommended | None = None
    seen: dict[int, float] = {}
    for step, loss in losses.items():
        seen[step] = loss
        found = update(rule, found, seen)
    return found


def advised_best(history: History, find_method: Callable[[], object]) -> Best | None:
    """Find the recommendation of a study, by the advice of its method if it has any; None without a reading.

    There is none if the method is not known in this process. Advice is about configurations with one reading;
    of several trials the mean is known, and decides. With constraints, or several objectives, readings decide.
    """
    single = len(history.trials) == len(history.arms) and (history.max_resource or 1) == 1 and history.goals.plain
    method = _find_if_known(find_method) if history.opened.recommend == "auto" and single else None
    if isinstance(method, HasAdvice):
        advice = method.recommend(history)
        trial = None if advice is None else history.arms[advice.arm].trials[0]
        if advice and trial and trial.recommended:
            return _best(history, trial, trial.recommended, history.sign * advice.loss)
    return history.best()


def _find_if_known(find_method: Callable[[], object]) -> object:
    try:
        return find_method()
    except MethodError:
        return None


def require(found: Best | None, history: History) -> Best:
    """Return the recommendation of a study; raise an error that shows the first failure if there is nothing to
    recommend.
    """
    if history.goals.several:
        raise MethodError(
            f"a study with the objectives {', '.join(history.goals.names)} has no single best configuration: "
            "study.front has the best ones, study.knee() balances the objectives, and "
            f"study.pick({'=1, '.join(history.goals.names)}=1) chooses by weights"
        )
    if found is None:
        raise EverythingFailed(describe_misses(history) if history.readings else _first_failure(history))
    return found


def require_result(history: History) -> None:
    """An error if a study that has ended has nothing to recommend."""
    if not history.readings:
        raise EverythingFailed(_first_failure(history))
    if history.goals.several:
        require_front(history)
    else:
        require(history.best(), history)


def _first_failure(history: History) -> str:
    failed = next((trial for trial in history.closings if trial.state != "finished"), None)
    if failed is None:
        return "there is no reading yet"
    return (
        f"no trial gave a usable reading; {len(history.closings)} ended without one, "
        f"the first (trial {failed.index}, {failed.config}) as {failed.state}: {failed.message}"
    )


def best_of(history: History, rule: Rule) -> Best | None:
    """Find the recommendation of a history by a rule; None without a reading."""
    if history.goals.several:
        return _best_of_front(history)
    if len(history.trials) > len(history.arms):
        return _best_mean(history)
    own = rule == history.opened.recommend
    found: tuple[Recommended, TrialRecord] | None = None
    for trial in history.trials:
        judged = trial.recommended if own else recommend(rule, feasible_part(trial))
        if judged is None or not trial.is_feasible(judged.step):
            continue
        if found is None or (judged.loss, -judged.step) < (found[0].loss, -found[0].step):
            found = judged, trial
    if found is None:
        return None
    judged, trial = found
    return _best(history, trial, judged)


def _best_of_front(history: History) -> Best | None:
    """The member of the front that balances the objectives, for what shows one configuration of a study."""
    point = weighted_best(history)
    return None if point is None else _best(history, point.trial, Recommended(point.losses[0], point.step))


def _best(history: History, trial: TrialRecord, judged: Recommended, expected: float | None = None) -> Best:
    value = history.sign * judged.loss
    return Best(trial.arm, trial.index, deep_copy(trial.config), value, None, judged.step, expected)


def _best_mean(history: History) -> Best | None:
    """The arm with the lowest mean loss at the furthest step that any trial reached."""
    step = max(trial.step for trial in history.trials)
    found: tuple[float, list[TrialRecord]] | None = None
    for arm in history.arms:
        there = [trial for trial in arm.trials if step in trial.losses and trial.is_feasible(step)]
        if there:
            mean = sum(trial.losses[step] for trial in there) / len(there)
            if found is None or mean < found[0]:
                found = mean, there
    if found is None:
        return None
    mean, there = found
    n, trial = len(there), min(there, key=lambda trial: trial.losses[step])
    error = math.sqrt(sum((t.losses[step] - mean) ** 2 for t in there) / (n - 1) / n) if n > 1 else None
    return Best(trial.arm, trial.index, deep_copy(trial.config), history.sign * mean, error, step)
