"""Checks of an objective before it is called: whether it can be one, where it is defined, and whether it reports."""

from __future__ import annotations

import dis
import inspect
import logging
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

from shoestring.errors import ObjectiveError
from shoestring.objectives.command.definition import Command, is_command
from shoestring.objectives.trial import Objective

_logger = logging.getLogger("shoestring")

# The attributes of its trial that a function can use without reporting anything.
_PASSIVE = ("index", "config", "seed", "start", "until", "arm", "replicate", "worker", "device", "directory",
            "attributes", "note", "show")  # fmt: skip


def check_objective(objective: Any, max_resource: int | None, parameters: Iterable[str]) -> None:
    """Refuse what cannot be an objective over these parameters, before anything is spent on it."""
    if isinstance(objective, Command):
        objective.check(list(parameters), max_resource)
        return
    if inspect.isgenerator(objective):
        raise ObjectiveError(
            "the objective is a generator that was already called: pass the function itself, without ()"
        )
    if not callable(objective):
        raise ObjectiveError(
            f"the objective is {objective!r}; it must be a function of a trial that returns a number or yields them"
        )
    if inspect.iscoroutinefunction(objective) or inspect.isasyncgenfunction(objective):
        raise ObjectiveError("the objective is async, which is not supported: make it an ordinary function")
    if inspect.isclass(objective):
        name = objective.__name__
        raise ObjectiveError(f"the objective is the class {name}; pass a function, or an instance that can be called")
    if not is_stateless(objective):  # a problem gives its readings without being called
        _refuse_other_arguments(objective, list(parameters))
    if yields(objective) and max_resource is None:
        raise ObjectiveError(
            "the objective yields a reading after each step: say how many steps a trial can have, max_resource=..."
        )
    if (max_resource or 1) > 1 and only_returns(objective):
        raise ObjectiveError(
            f"max_resource is {max_resource}, but the objective returns once: call trial.report(value) after each "
            "step, or make it a generator that yields a reading after each step (`yield from`, if it calls another "
            "one), or leave max_resource out"
        )


def _refuse_other_arguments(objective: Any, parameters: list[str]) -> None:
    """Refuse a function that cannot be called with one argument, the trial."""
    try:
        signature = inspect.signature(objective)
    except (TypeError, ValueError):  # a builtin function may have none
        return
    try:
        signature.bind(None)
    except TypeError:
        name = getattr(objective, "__name__", type(objective).__name__)
        shown = "objective" if name == "<lambda>" else name
        first = f", and read trial.config[{parameters[0]!r}]" if parameters else ""
        raise ObjectiveError(
            f"the objective {shown}{signature} must take one argument, the trial: write def {shown}(trial){first}; "
            "functools.partial can set other arguments"
        ) from None


def place_of(objective: Any) -> str:
    """Return where an objective is defined and what it is called there, FILE:NAME, as the log records it; or the
    command.
    """
    if isinstance(objective, Command):
        return objective.place
    inner: Any = inspect.unwrap(getattr(objective, "func", objective))  # a partial function has one
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    try:
        file = inspect.getsourcefile(named) or ""
    except (TypeError, OSError):
        file = ""
    return f"{file if Path(file).is_file() else named.__module__}:{named.__qualname__}"


def warn_of_another_objective(study: str, stored: str | None, objective: Objective) -> None:
    """Say so if a study continues with another objective than it was started with; its folder may have moved."""
    given = place_of(objective)
    if stored is not None and stored != given and (is_command(given) or Path(stored).name != Path(given).name):
        _logger.warning(
            "the study %r was started with the objective %s and continues with %s; if that is intended, say "
            "accept_objective=True (--accept-objective)", study, stored, given,
        )  # fmt: skip


def is_stateless(objective: Any) -> bool:
    """Return whether an objective is a problem, with ``reading``: its trials can continue at any step without files."""
    return hasattr(objective, "reading")


def yields(objective: Any) -> bool:
    """Return whether an objective is known to be a generator function."""
    call = objective if inspect.isroutine(objective) else type(objective).__call__
    return inspect.isgeneratorfunction(inspect.unwrap(objective)) or inspect.isgeneratorfunction(call)


def only_returns(objective: Any) -> bool:
    """Return whether an objective cannot report: it passes its trial to no function and does not call ``report``."""
    function = inspect.unwrap(objective)
    if inspect.isbuiltin(function):
        return True
    return inspect.isfunction(function) and not yields(objective) and _keeps_its_trial(function.__code__)


def _keeps_its_trial(code: CodeType) -> bool:
    """Return whether every use of the first argument is an attribute that cannot report."""
    if not code.co_argcount:
        return False  # it takes the trial otherwise, as *arguments
    trial, attributes = code.co_varnames[0], ("LOAD_ATTR", "LOAD_METHOD")
    for used, then in pairwise(dis.get_instructions(code)):
        names = used.argval if isinstance(used.argval, tuple) else (used.argval,)
        if trial not in names or used.opname in attributes:
            continue
        passive = used.opname.startswith("LOAD_FAST") and names[-1] == trial and names.count(trial) == 1
        if not (passive and then.opname in attributes and then.argval in _PASSIVE):
            return False
    return True
