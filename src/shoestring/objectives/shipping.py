"""Sending an objective to another process, in memory.

Everything that a script, a notebook or a function defines (closures and lambdas included) travels by value, so that the
other process need not run the script. The names of a module travel by name and are imported there.
"""

from __future__ import annotations

import functools
import inspect
import io
import sys
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from shoestring.errors import ObjectiveError
from shoestring.objectives.loading import SCRIPT

# What functools.cache and lru_cache make of a function.
_WITH_CACHE = type(functools.cache(int))


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
        return _dumps((objective, init, carrier))
    except Exception as error:
        raise ObjectiveError(
            f"the objective {objective!r} cannot be sent to another process: it refers to {_culprit(objective)} that "
            f"cannot be pickled ({error}). Create that inside the objective, define the objective in a module that can "
            "be imported, or use workers=1"
        ) from None
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _dumps(value: object) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


def _culprit(objective: Any) -> str:
    """Return which variable of the script it is, if that can be told."""
    function = objective if isinstance(objective, types.FunctionType) else type(objective).__call__
    try:
        found = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return "something"
    for name, value in {**found.globals, **found.nonlocals}.items():
        try:
            _dumps(value)
        except Exception:
            return f"{name}, something"
    return "something"


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Also sends what ``functools.cache``, ``lru_cache`` and ``cached_property`` make, without what they hold."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _WITH_CACHE) and self._travels(obj):
            return _cache_again, (obj.__wrapped__, obj.cache_parameters())
        if type(obj) is functools.cached_property:
            return functools.cached_property, (obj.func,), {"attrname": obj.attrname}
        return super().reducer_override(obj)

    def _travels(self, function: Any) -> bool:
        """Return whether a function goes by value: the other process cannot import it by its name."""
        by_value = {"__main__", SCRIPT, *cloudpickle.list_registry_pickle_by_value()}
        return function.__module__ in by_value or "<locals>" in function.__qualname__


def _cache_again(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


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
