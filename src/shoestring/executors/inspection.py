"""What can be known of an objective before it is called."""

from __future__ import annotations

import dis
import inspect
from itertools import pairwise
from types import CodeType
from typing import Any

# What a function can use of its trial without reporting anything.
_PASSIVE = ("index", "config", "seed", "start", "until", "arm", "replicate", "worker", "device", "directory")


def yields(objective: Any) -> bool:
    """Whether an objective is known to be a generator function."""
    call = objective if inspect.isroutine(objective) else type(objective).__call__
    return inspect.isgeneratorfunction(inspect.unwrap(objective)) or inspect.isgeneratorfunction(call)


def only_returns(objective: Any) -> bool:
    """Whether an objective is sure to report nothing: it hands its trial on to nobody, and does not call ``report``."""
    function = inspect.unwrap(objective)
    if inspect.isbuiltin(function):
        return True
    return inspect.isfunction(function) and not yields(objective) and _keeps_its_trial(function.__code__)


def _keeps_its_trial(code: CodeType) -> bool:
    """Whether every use of the first argument is an attribute that cannot report."""
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
