"""Checks when a study is opened: its options, its method, and whether they agree with the stored study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoestring.core.budget import LARGEST_WHOLE, Budget
from shoestring.core.decisions import Method
from shoestring.core.event_log import EventLog
from shoestring.core.events import Granted, Mode, Opened
from shoestring.core.goals import goals
from shoestring.core.grants import next_grant
from shoestring.core.history import History
from shoestring.core.recommendation import DEFAULT_RULE
from shoestring.core.weighing import unable_part
from shoestring.errors import Conflict, MethodError, StudyMismatch, brief
from shoestring.methods.registry import (
    auto,
    describe,
    differing_option,
    named,
    names,
    rebuild,
    same_method,
    unknown_classes,
)
from shoestring.spaces.serialisation import differing_parameter

# Python refuses to write a number of more than 4,300 digits as text.
_LARGEST_SEED = 10**1000
_OR_AS_STORED = " (method='auto' goes on with the stored one)"


def check_options(mode: object, max_resource: object, seed: object) -> None:
    if mode not in ("min", "max"):
        raise MethodError(f"mode is {mode!r}; it must be 'min' or 'max'")
    if max_resource is not None and (
        not isinstance(max_resource, int) or isinstance(max_resource, bool) or not 1 <= max_resource < LARGEST_WHOLE
    ):
        raise MethodError(
            f"max_resource is {brief(max_resource)}; it must be the most steps a trial can have, a whole number from 1 "
            "and below 2**63"
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or abs(seed) >= _LARGEST_SEED:
        raise MethodError(f"seed is {brief(seed)}; it must be a whole number of at most 1,000 digits")


def check_goals(objectives: Any, constraints: Any, mode: Mode, recommend: str, method: Method) -> Mode:
    """Refuse objectives and constraints that the study or its method cannot have; the mode of the first objective."""
    found = goals(objectives, constraints, mode)
    if objectives is None:
        own = mode
    elif mode != "min":
        raise MethodError(f"mode is {mode!r} and there are objectives: say it there, objectives={{'accuracy': 'max'}}")
    else:
        own = objectives[found.names[0]]
    if found.several and recommend not in (DEFAULT_RULE, "best"):
        raise MethodError(f"recommend is {recommend!r}; with several objectives study.front has their best readings")
    if not found.plain and (unable := unable_part(method)) is not None:
        able = ", ".join(name for name in names() if name == "auto" or unable_part(named(name)) is None)
        what = f"{len(found.names)} objectives" if found.several else "constraints"
        raise MethodError(f"{type(unable).__name__} cannot handle {what}; these methods can: {able}")
    return own


def choose_method(given: object, budget: Budget, max_resource: int | None) -> tuple[Method, str]:
    if given == "auto":
        return auto(budget, max_resource)
    if isinstance(given, str):
        return named(given), ""
    if isinstance(given, type):
        raise MethodError(f"method is the class {given.__name__}: create one, {given.__name__}()")
    if not callable(getattr(given, "decide", None)):
        what = "a sampler" if hasattr(given, "propose") else "a scheduler" if hasattr(given, "next") else "no method"
        raise MethodError(
            f"method is {given!r}, {what}: give a name, compose(sampler, scheduler), or an object with a decide method"
        )
    return given, ""  # type: ignore[return-value]


def rebuild_method(description: Mapping[str, Any]) -> Method:
    """The method of a stored study; an error that names the classes that are not known here."""
    method: Method | None = rebuild(description)
    if method is None:
        unknown = ", ".join(unknown_classes(description)) or "objects that a log cannot hold"
        raise MethodError(
            f"the method of this study uses {unknown}, not known in this process: import the module that registers it "
            "(shoestring.methods.register), declare an entry point of the group shoestring.methods, "
            "or give the method: Study(..., method=...), verify(method=...)"
        )
    if not callable(getattr(method, "decide", None)):
        raise MethodError(f"the log names {method!r} as the study's method, which cannot decide anything")
    return method


def stored_method(name: str, given: Method | None, description: Mapping[str, Any]) -> Method:
    """Return the method of a stored study that is opened again: the given one, or as its log describes it.

    A log of an earlier version does not name the options that were added since, so it may describe another setting.
    """
    if given is not None and describe(given) == description:
        return given
    method: Method | None = rebuild(description)
    if method is None:
        raise StudyMismatch(f"the stored study {name!r} has a method of its own: give it as method=...")
    return method


def create_or_find(log: EventLog, name: str, method: Method, opened: Opened) -> tuple[int, History | None]:
    """The number of a study in its log, and the history of one that is new."""
    number = log.find(name)
    if number is not None:
        return number, None
    history = _open_history(method, opened)
    try:
        return log.create(name, opened), history
    except Conflict:  # another process created it at this moment
        number = log.find(name)
        assert number is not None
        return number, None


def _open_history(method: Method, opened: Opened) -> History:
    """The history of a new study. Its first grant is decided now, so that an impossible study fails before it is
    stored.
    """
    history = History()
    history.apply(opened)
    answer = next_grant(method, history, "", opened.at)
    if not isinstance(answer, Granted):
        raise MethodError(f"the method has nothing to try: {answer.reason}")
    return history


def refuse_differences(stored: Opened, given: Opened, name: str, any_method: bool) -> None:
    differs = differing_parameter(stored.space, given.space)
    left_open = {"method": any_method, "recommend": given.recommend == DEFAULT_RULE}
    left_open["mode"] = stored.objectives == given.objectives is not None  # they have modes of their own
    for field in ("objectives", "mode", "constraints", "max_resource", "seed", "recommend", "method"):
        ours, theirs = getattr(stored, field), getattr(given, field)
        same = same_method(ours, theirs) if field == "method" else ours == theirs
        if differs is None and not same and not left_open.get(field):
            one_field = f"{field} was {ours!r} and is now {theirs!r}"
            differs = differing_option(ours, theirs) + _OR_AS_STORED if field == "method" else one_field
    if differs:
        raise StudyMismatch(f"the stored study {name!r} differs from the one given: {differs}; give it another name")
