"""Optuna's trials as results of ours, and our trials as Optuna's.

========== ================================================ ===========================================
Optuna     as a result here                                 a trial here, as Optuna has it
========== ================================================ ===========================================
COMPLETE   its value is the reading of the last step        finished; the value is its last reading
PRUNED     its intermediate values; it can be continued     paused or stopped
FAIL       failed, with its intermediate values             failed or lost
WAITING    enqueued                                         enqueued
RUNNING    left out                                         left out
directions objectives, called as in ``set_metric_names``    directions; the values of the last reading
========== ================================================ ===========================================

Numbers among the user attributes are metrics of the last reading. What Optuna has no place for, such as the bounds
and metrics of earlier readings, is kept in the user attribute ``shoestring`` and read back from there.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any

from shoestring.core.events import Closed, Event, Granted, Mode, Reported
from shoestring.core.goals import Goals
from shoestring.core.history import History, TrialRecord
from shoestring.core.known import Result
from shoestring.core.readings import Reading
from shoestring.errors import MethodError, ReadingError, SpaceError
from shoestring.exchange.optuna_space import (
    config_for_optuna,
    distributions_of,
    optuna_package,
    own_value,
    space_of,
)
from shoestring.spaces.codec import Codec, Config

_STATES = {"finished": "COMPLETE", "paused": "PRUNED", "stopped": "PRUNED", "failed": "FAIL", "lost": "FAIL"}
_OWN = "shoestring"
# Where Optuna keeps the values of constraints: a list, or one for each name after a colon.
_CONSTRAINTS = "constraints"


def _open_optuna(given: Any, name: str | None) -> Any:
    """An Optuna study, from itself or from the address of its storage."""
    if not isinstance(given, str):
        return given
    optuna = optuna_package()
    try:
        return optuna.load_study(study_name=name, storage=given)
    except (KeyError, ValueError) as error:
        names = ", ".join(map(repr, optuna.get_all_study_names(given))) or "none"
        raise ReadingError(f"there is no Optuna study {name!r} in {given} (it holds {names}): {error}") from error


def _new_optuna(storage: Any, name: str, goals: Goals) -> Any:
    """A new Optuna study; one that exists is not added to."""
    optuna, directions = optuna_package(), ["maximize" if sign < 0 else "minimize" for sign in goals.signs]
    try:
        study = optuna.create_study(storage=storage, study_name=name, directions=directions)
    except optuna.exceptions.DuplicatedStudyError as error:
        raise ReadingError(f"{storage} has an Optuna study {name!r} already: give another name=") from error
    if goals.several:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names(list(goals.names))
    return study


def _warn_of_loss(what: str, lost: Sequence[str]) -> None:
    """Name in one warning what could not be taken over."""
    if lost:
        warnings.warn(f"{what}; left out: {'; '.join(lost)}", stacklevel=4)


def options_from_optuna(given: Any, name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a study of ours that takes over an Optuna study; a warning names what is left out."""
    study = _open_optuna(given, name)
    trials, goals = study.get_trials(deepcopy=False), _goals_of(study, options.get("objectives"))
    distributions, lost = _distributions(trials)
    space, first = space_of(distributions), _first_step(trials)
    last = max((step - first + 1 for trial in trials for step in trial.intermediate_values), default=1)
    results, queue, dropped = _sort(trials, distributions, Codec(space), study.study_name, (first, last), goals)
    own = {**goals, "max_resource": last if last > 1 else None, "name": name or study.study_name}
    more = options.get("initial", ())
    _warn_of_loss(
        f"the Optuna study {study.study_name!r} has more than a study here can hold",
        lost + _losses_in_words(trials, dropped),
    )
    return {**own, **options, "space": space, "initial": [*results, *queue, *more]}


def mode_of(study: Any) -> Mode:
    """The direction of an Optuna study; one with several is refused."""
    if len(study.directions) > 1:
        raise MethodError(
            f"the Optuna study has {len(study.directions)} directions, and this needs one objective: take one of them, "
            "or give the objective to ss.tune(..., objectives=...)"
        )
    return _mode(study.direction)


def _mode(direction: Any) -> Mode:
    return "max" if direction.name == "MAXIMIZE" else "min"


def _goals_of(study: Any, given: Any) -> dict[str, Any]:
    """The mode, or the objectives by name: those ``given``, else as the Optuna study calls them."""
    directions = study.directions
    if len(directions) == 1:
        return {"mode": mode_of(study)}
    if isinstance(given, Mapping) and len(given) != len(directions):
        raise MethodError(f"the Optuna study has {len(directions)} directions: name as many objectives, in their order")
    names = (
        given if isinstance(given, Mapping) else study.metric_names or [f"value_{i}" for i in range(len(directions))]
    )
    return {"objectives": dict(zip(names, map(_mode, directions), strict=True))}


def _sort(
    trials: Sequence[Any],
    distributions: Mapping[str, Any],
    codec: Codec,
    name: str,
    steps: tuple[int, int],
    goals: Mapping[str, Any],
) -> tuple[list[Result], list[Config], Counter[str]]:
    """The results, the configurations that wait, and how many trials are neither, by the reason."""
    results, queue = list[Result](), list[Config]()
    dropped, seen, objectives = Counter[str](), set[Hashable](), tuple(goals.get("objectives", ()))
    for trial in trials:
        config = _config(trial, distributions, codec)
        result = None if config is None else _result(trial, config, name, steps, objectives)
        if config is None:
            dropped["trials with parameters outside of the space"] += 1
        elif trial.state.name == "WAITING":
            queue.append(config)
        elif trial.state.name == "RUNNING":
            dropped["running trials"] += 1
        elif result is None:
            dropped["pruned trials without a value"] += 1
        elif (key := _key(result, objectives)) in seen:
            dropped["trials that repeat another one exactly"] += 1
        else:
            seen.add(key)
            results.append(result)
    return results, queue, dropped


def _key(result: Result, objectives: Sequence[str]) -> Hashable:
    values = tuple(
        (step, reading.value, *map(reading.metrics.get, objectives)) for step, reading in result.readings.items()
    )
    return Codec.key(result.config), values, bool(result.failed)


def _distributions(trials: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
    """The distributions that all trials with parameters have; others cannot be in one space."""
    given = [trial.distributions for trial in trials if trial.distributions]
    if not given:
        raise SpaceError("the Optuna study has no trial with parameters, so that its space is not known")
    names = dict.fromkeys(name for one in given for name in one)
    common = {name: given[-1][name] for name in names if all(one.get(name) == given[-1].get(name) for one in given)}
    if not common:
        raise SpaceError(f"no parameter has the same range in all trials; there are {', '.join(names)}")
    return common, [f"the parameter {name!r}, which some trials do not have, or have with another range"
                    for name in names if name not in common]  # fmt: skip


def _first_step(trials: Sequence[Any]) -> int:
    """0 if steps are counted from 0, else 1: ours are counted from 1."""
    return min((step for trial in trials for step in trial.intermediate_values), default=1) and 1


def _config(trial: Any, distributions: Mapping[str, Any], codec: Codec) -> Config | None:
    fixed = trial.system_attrs.get("fixed_params", {}) if trial.state.name == "WAITING" else {}
    params = {**fixed, **trial.params}
    try:
        return codec.complete({n: own_value(d, params[n]) for n, d in distributions.items() if n in params})
    except SpaceError:
        return None


def _result(trial: Any, config: Config, name: str, steps: tuple[int, int], objectives: Sequence[str]) -> Result | None:
    own, (first, last) = trial.user_attrs.get(_OWN) or {}, steps
    readings = {
        step - first + 1: Reading(value, **own.get("readings", {}).get(str(step), {}))
        for step, value in sorted(trial.intermediate_values.items())
        if math.isfinite(value)
    }
    state = trial.state.name
    if state == "COMPLETE" and all(map(math.isfinite, trial.values)) and (last not in readings or not own):
        readings[last] = _final(trial, readings.get(last), objectives)
    failed = own.get("message") or "it failed in Optuna" if state == "FAIL" or not readings else None
    if not readings and state == "PRUNED":
        return None
    return Result(config, readings, failed, own.get("source") or f"Optuna study {name}, trial {trial.number}")


def _final(trial: Any, reported: Reading | None, objectives: Sequence[str]) -> Reading:
    """The values of a complete trial; a different value that was reported at that step is a metric."""
    metrics = {name: float(value) for name, value in trial.user_attrs.items() if _is_metric(name, value)}
    metrics |= _constraints(trial.system_attrs) | dict(zip(objectives, trial.values, strict=False))
    if reported is not None and reported.value != trial.values[0]:
        metrics["reported"] = reported.value
    return Reading(trial.values[0], **metrics)


def _constraints(attributes: Mapping[str, Any]) -> dict[str, float]:
    """The values of Optuna's constraints as metrics, ``constraint_0`` or ``constraint_NAME``; 0 or less is feasible."""
    found = {str(place): value for place, value in enumerate(attributes.get(_CONSTRAINTS) or ())}
    own = f"{_CONSTRAINTS}:"
    found |= {key.removeprefix(own): value for key, value in attributes.items() if key.startswith(own)}
    return {f"constraint_{name}": float(value) for name, value in found.items()}


def _is_metric(name: str, value: Any) -> bool:
    return type(value) in (int, float) and name.isidentifier() and name not in ("value", "low", "high", "cost")


def _losses_in_words(trials: Sequence[Any], dropped: Mapping[str, int]) -> list[str]:
    attributes = {n for t in trials for n, v in t.user_attrs.items() if n != _OWN and not _is_metric(n, v)}
    infinite = sum(not math.isfinite(value) for trial in trials for value in trial.intermediate_values.values())
    return [
        *(f"{what}: {count}" for what, count in dropped.items()),
        *([f"intermediate values that are not finite: {infinite}"] if infinite else []),
        *(f"the user attribute {name!r}, which is not a number" for name in sorted(attributes)),
    ]


def export_to_optuna(own: str, history: History, events: Sequence[Event], storage: Any, name: str | None) -> Any:
    """A new Optuna study with the trials of a history; a warning names what Optuna cannot have."""
    study = _new_optuna(storage, name or own, history.goals)
    distributions, lost = distributions_of(history.codec.space)
    times = _times(events)
    for trial in history.trials:
        if trial.state in _STATES:
            study.add_trial(_freeze(trial, distributions, times.get(trial.index), history.goals))
    for config in history.queue:
        study.enqueue_trial(config_for_optuna(config))
    running = [f"running trials: {len(history.running)}"] if history.running else []
    _warn_of_loss(f"the study {own!r} has more than an Optuna study can hold", lost + running)
    return study


def _times(events: Sequence[Event]) -> dict[int, list[float]]:
    """The time of day of the first and of the last event of each trial that ran here."""
    found: dict[int, list[float]] = {}
    for event in events:
        if isinstance(event, (Granted, Reported, Closed)):
            at = event.at + event.drift
            found[event.trial] = [*found.get(event.trial, [at])[:1], at]
    return found


def _freeze(trial: TrialRecord, distributions: Mapping[str, Any], times: Sequence[float] | None, goals: Goals) -> Any:
    """A trial as Optuna keeps it, with the times of ours if it ran here, and how far it misses each constraint."""
    optuna, params = optuna_package(), config_for_optuna(trial.config)
    state = optuna.trial.TrialState[_STATES[trial.state]]
    values = {step: reading.value for step, reading in trial.readings.items()}
    last = trial.readings[max(values)] if values else None
    misses = trial.violations.get(max(values, default=0))
    found = optuna.create_trial(
        state=state,
        values=list(goals.values(last).values()) if last and trial.state == "finished" else None,
        params=params,
        distributions={name: distributions[name] for name in params},
        intermediate_values=values,
        user_attrs=_attributes(trial),
        system_attrs={_CONSTRAINTS: list(misses)} if misses else None,
    )
    if times:
        found.datetime_start, found.datetime_complete = map(datetime.fromtimestamp, times)
    return found


def _attributes(trial: TrialRecord) -> dict[str, Any]:
    """The metrics of the last reading, and what else there is in an attribute of our own."""
    metrics = dict(trial.readings[trial.step].metrics) if trial.readings else {}
    extras = {step: _extra(reading) for step, reading in trial.readings.items()}
    own = {
        "readings": {str(step): extra for step, extra in extras.items() if extra},
        "state": trial.state,
        "seed": trial.seed,
        "message": trial.message,
        "reason": trial.reason,
        "source": trial.reason.removeprefix("added from ") if trial.foreign else "",
    }
    return {**metrics, _OWN: {name: value for name, value in own.items() if value not in ("", {})}}


def _extra(reading: Reading) -> dict[str, float]:
    bounds = {name: getattr(reading, name) for name in ("low", "high", "cost")}
    return {**{name: value for name, value in bounds.items() if value is not None}, **reading.metrics}
