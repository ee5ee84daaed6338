"""Sending an objective to another process, in memory.

Everything that a script, a notebook or a function defines (closures and lambdas included) travels by value, so that the
other process need not run the script. The names of a module travel by name and are imported there.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from shoestring.errors import ObjectiveError
from shoestring.objectives.loading import SCRIPT


def to_bytes(objective: Any, init: Callable[[], Any] | None = None) -> bytes:
    """An objective for another process, and what to call there first. The bytes go through a pipe and are never stored.

    They travel together, so that they share the global variables of their script there too.
    """
    main = sys.modules["__main__"]
    # A function of the script carries the script's names to the other process, next to the objective.
    carrier = types.FunctionType(_nothing.__code__, vars(main))
    carrier.__module__ = main.__name__
    registered = cloudpickle.list_registry_pickle_by_value()
    by_value = [module for module in _not_importable(objective, init) if module.__name__ not in registered]
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        pickled: bytes = cloudpickle.dumps((objective, init, carrier))
    except Exception as error:
        raise ObjectiveError(
            f"the objective {objective!r} cannot be sent to another process: it refers to something that cannot be "
            f"pickled ({error}). Create that inside the objective, define the objective in a module that can be "
            "imported, or use workers=1"
        ) from None
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return pickled


def from_bytes(pickled: bytes) -> tuple[Any, Callable[[], Any] | None]:
    """The objective that another process sent, and what to call first.

    The names of its script become names of this process's main module, so that objects of the script's classes can be
    pickled here and read again elsewhere.
    """
    objective, init, carrier = cloudpickle.loads(pickled)
    main = sys.modules[SCRIPT] = sys.modules["__main__"]
    vars(main).update(carrier.__globals__)
    return objective, init


def _nothing() -> None:
    """Return whether this is the function that carries a script's names."""


def _not_importable(*sent: Any) -> set[types.ModuleType]:
    """The script, and the modules of what is sent that do not say how they were imported."""
    main = sys.modules["__main__"]
    names = (getattr(one, "__module__", None) or type(one).__module__ for one in sent)
    modules = {sys.modules.get(name, main) for name in names}
    return {main, *(module for module in modules if not getattr(module, "__spec__", None))}
