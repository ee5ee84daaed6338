"""Knowledge of the user: configurations to try first, and results from elsewhere.

Both are events. An enqueued configuration is tried before the method chooses one by itself. An added result is a trial
like any other for every method, but nothing is charged for it: one that has all its steps is finished, one with fewer
is paused and can be continued, from its first step on because there are no files of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from shoestring.core.events import Added, Enqueued
from shoestring.core.goals import Goals
from shoestring.core.history import FAILED, History, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.readings import Reading, check_reading, numbers_and_details, readings_by_step
from shoestring.errors import ReadingError, SpaceError
from shoestring.spaces.codec import Codec, Config

_logger = logging.getLogger("shoestring")

# The number of results that are added to a storage at once.
_BATCH = 500


def is_known(history: History, config: Mapping[str, Any]) -> bool:
    """Return whether a configuration was tried, added or enqueued already."""
    key = Codec.key(history.codec.complete(config))
    return key in history.arm_of or key in map(Codec.key, history.queue)


def make_enqueued(history: History, config: Mapping[str, Any], source: str = "") -> Enqueued:
    """Make the event for a configuration to try next; a known configuration is refused."""
    own = history.codec.complete(config)
    if is_known(history, own):
        arm = history.arm_of.get(Codec.key(own))
        what = "waits in the queue already" if arm is None else f"is that of trial {history.arms[arm].trials[0].index}"
        raise SpaceError(f"the configuration {own} {what}; a configuration is tried once")
    if not isinstance(source, str):
        raise SpaceError(f"the source is {source!r:.80}; it must be a text that says who wants this configuration")
    return Enqueued(history.now, own, source, history.drift)


def make_added(
    history: History, config: Mapping[str, Any], readings: object, failed: object = None, source: str = ""
) -> Added | None:
    """The event for a result from elsewhere; None if exactly this result is known already.

    A single number is the reading of the last step; a list has one reading for each step, a mapping says which.
    """
    own, last = history.codec.complete(config), history.max_resource or 1
    message = "" if failed is None else str(failed) or "it failed elsewhere"
    given = {} if readings is None else readings_by_step(0, last, readings, "a trial of this study")
    if not given and not message:
        raise ReadingError("the result has no reading: give a value, a list or step to value, or failed='why'")
    written = [_write(step, one, history.goals) for step, one in given.items()]
    event = Added(history.now, own, written, message, source, history.drift)
    return None if _is_there(history, event) else event


def _write(step: int, given: object, goals: Goals) -> dict[str, Any]:
    reading = check_reading(given, goals)
    numbers, details = numbers_and_details(reading)
    optional = {
        "low": reading.low,
        "high": reading.high,
        "cost": reading.cost,
        "metrics": numbers,
        "details": details,
    }
    return {"step": step, "value": reading.value, **{k: v for k, v in optional.items() if v is not None}}


def _is_there(history: History, event: Added) -> bool:
    """Return whether a trial has all that this result says; one that was added before may have been continued since."""
    arm = history.arm_of.get(Codec.key(event.config))
    given = {one["step"]: one["value"] for one in event.readings}
    for trial in () if arm is None else history.arms[arm].trials:
        known = {step: reading.value for step, reading in trial.readings.items()}
        if (known == given and trial.state in FAILED) if event.failed else given.items() <= known.items():
            return True
    return False


class HasHistory(Protocol):
    """A study, as far as its results are concerned."""

    @property
    def name(self) -> str: ...

    @property
    def history(self) -> History: ...


@dataclass(frozen=True)
class WarmStart:
    """The results of other studies, to be learned from; ``fill`` has the parameters that these did not have."""

    studies: tuple[HasHistory, ...]
    fill: Mapping[str, Any] = field(default_factory=dict)


def warm_start(*studies: HasHistory, fill: Mapping[str, Any] | None = None) -> WarmStart:
    """The results of other studies, for ``initial=`` of :func:`tune` or for ``study.add_from``.

    The spaces may differ. Parameters that only the other study has are left out. A parameter that only the new one has
    needs a value in ``fill``: the value that the other study used implicitly. A result outside of the new space is
    not taken.

    >>> import shoestring as ss
    >>> def square(trial):
    ...     return trial.config["x"] ** 2
    >>> first = ss.tune(square, {"x": (-1.0, 1.0)}, budget="10 evaluations", method="tpe")
    >>> wider = {"x": (-2.0, 2.0), "y": (0, 3)}
    >>> known = ss.warm_start(first, fill={"y": 0})
    >>> second = ss.tune(square, wider, budget="5 evaluations", method="tpe", initial=[known])
    >>> len(second.trials), second.spent.evaluations
    (15, 5)
    """
    for study in studies:
        if not isinstance(getattr(study, "history", None), History):
            raise ReadingError(f"{study!r} is not a study; give an ss.Study, such as ss.Study.load('study.db', 'name')")
    if not studies:
        raise ReadingError("give the study whose results are known: ss.warm_start(ss.Study.load('study.db', 'name'))")
    return WarmStart(studies, dict(fill or {}))


# Knowledge from before a study starts: configurations to try first, and other studies to learn from.
Initial = Sequence["Mapping[str, Any] | WarmStart | HasHistory | Result"]


def start_with(journal: Journal, initial: Initial) -> None:
    """Enqueue the configurations that are not known yet, and add the results of other studies."""
    entries: Sequence[Any] = initial if isinstance(initial, (list, tuple)) else [initial]
    _add_batches(journal, [one for one in entries if isinstance(one, Result)])
    for one in entries:
        if isinstance(one, Mapping):
            journal.put(partial(_enqueue_once, one))
        elif not isinstance(one, Result):
            add_results(journal, one if isinstance(one, WarmStart) else warm_start(one))


def _enqueue_once(config: Mapping[str, Any], history: History) -> Enqueued | None:
    return None if is_known(history, config) else make_enqueued(history, config)


def add_results(journal: Journal, warm: WarmStart) -> int:
    """Add the results of other studies; how many were taken."""
    unknown = sorted(warm.fill.keys() - journal.history.codec.space.keys())
    if unknown:
        raise SpaceError(f"fill has {unknown[0]!r}, which is not a parameter of the space of {journal.name!r}")
    results, outside = results_for(journal.history, warm)
    _add_batches(journal, results)
    if outside:
        _logger.warning("%d results were not taken: they are outside of the space of %r", outside, journal.name)
    return len(results)


def _add_batches(journal: Journal, results: Sequence[Result]) -> None:
    """Add results that fit into the study."""
    for batch in _batches(results):
        journal.put(*(partial(_add_result, one) for one in batch))


def _batches(results: Sequence[Result]) -> Iterator[list[Result]]:
    """The results in parts that are added together; a configuration is in none twice, as its results are compared."""
    batch: dict[object, Result] = {}
    for one in results:
        key = Codec.key(one.config)
        if key in batch or len(batch) == _BATCH:
            yield list(batch.values())
            batch = {}
        batch[key] = one
    yield list(batch.values())


def _add_result(result: Result, history: History) -> Added | None:
    return make_added(history, result.config, result.readings or None, result.failed, result.source)


@dataclass(frozen=True)
class Result:
    """A trial of another study as this one can add it; ``initial=`` takes it too."""

    config: Config
    readings: Mapping[int, Reading]
    failed: str | None
    source: str


def results_for(history: History, warm: WarmStart) -> tuple[list[Result], int]:
    """The results that fit into a study, and how many do not."""
    found, outside = [], 0
    for study in warm.studies:
        other = study.history
        _check_comparable(history, other, study.name)
        for trial in other.trials:
            if trial.state in ("running", "stopped", "lost") and not trial.readings:
                continue  # it says nothing yet
            result = _result(history, other, trial, study.name, warm.fill)
            if result is None:
                outside += 1
            else:
                found.append(result)
    return found, outside


def _check_comparable(history: History, other: History, name: str) -> None:
    if other.opened.mode != history.opened.mode:
        raise ReadingError(
            f"the study {name!r} has mode={other.opened.mode!r} and this one mode={history.opened.mode!r}: their "
            "values cannot be compared; add them one by one with study.add(config, -value)"
        )
    if other.goals.names != history.goals.names or other.goals.signs != history.goals.signs:
        raise ReadingError(
            f"the study {name!r} has the objectives {other.opened.objectives} and this one has "
            f"{history.opened.objectives}: their readings cannot be compared; add them one by one with "
            "study.add(config, ss.Reading(...))"
        )


def _result(history: History, other: History, trial: TrialRecord, name: str, fill: Mapping[str, Any]) -> Result | None:
    own = history.codec.space
    config = {key: value for key, value in {**fill, **trial.config}.items() if key in own}
    missing = [key for key in own if key not in config and key not in other.codec.space and _must_be_given(own[key])]
    try:
        config = history.codec.complete(history.codec.without_inactive(config, fill.keys() - trial.config.keys()))
    except SpaceError as error:
        if missing:
            raise SpaceError(
                f"the study {name!r} has no parameter {missing[0]!r}: say which value it had there, "
                f"ss.warm_start(study, fill={{{missing[0]!r}: ...}})"
            ) from error
        return None
    readings = _in_steps_of(history, other, trial)
    failed = trial.message or "it failed" if trial.state == "failed" else None
    return Result(config, readings, failed, f"{name}, trial {trial.index}") if readings or failed else None


def _must_be_given(parameter: Any) -> bool:
    return not hasattr(parameter, "value")  # a constant has one


def _in_steps_of(history: History, other: History, trial: TrialRecord) -> Mapping[int, Reading]:
    """The readings of a trial in the steps of this study; the value of an objective that returns once is its last."""
    own, theirs = history.max_resource or 1, other.max_resource or 1
    if own > 1 and theirs == 1:
        return {own: trial.readings[1]} if trial.readings else {}
    if own == 1 and theirs > 1:
        return {1: trial.readings[trial.recommended.step]} if trial.recommended else {}
    return {step: reading for step, reading in trial.readings.items() if step <= own}
