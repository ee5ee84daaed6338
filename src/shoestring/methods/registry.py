"""The names that ``method=`` takes, and how a method is written into a log and rebuilt from it.

A method is a frozen dataclass of plain values (or of other such dataclasses), so its description is its class and its
fields. An option that a log does not name, because it was added later, has its default. If that decides differently
than before, the field's metadata have under "before" the value with which nothing changes. Classes of other packages
are found once they are registered, by :func:`register` or by an entry point of the group ``shoestring.methods``.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from shoestring import methods, samplers, schedulers
from shoestring._other_names import method_elsewhere
from shoestring.core.budget import Budget
from shoestring.core.composition import Composed, compose
from shoestring.core.decisions import Method
from shoestring.errors import MethodError
from shoestring.methods.bibliography import bibtex_of

T = TypeVar("T")

_NAMED: dict[str, Callable[[], Any]] = {
    "random": lambda: compose(samplers.Random(), schedulers.Full()),
    "grid": lambda: compose(samplers.Grid(), schedulers.Full()),
    "latin-hypercube": lambda: compose(samplers.LatinHypercube(), schedulers.Full()),
    "tpe": lambda: compose(samplers.TPE(), schedulers.Full()),
    "cmaes": lambda: compose(samplers.CMAES(), schedulers.Full()),
    "gp": lambda: compose(samplers.GaussianProcess(), schedulers.Full()),
    "boes": lambda: compose(samplers.BOES(), schedulers.Full()),
    "sh": lambda: compose(samplers.Random(), schedulers.SuccessiveHalving()),
    "hyperband": lambda: compose(samplers.Random(), schedulers.Hyperband()),
    "asha": lambda: compose(samplers.Random(), schedulers.ASHA()),
    "asha-tpe": lambda: compose(samplers.TPE.wide(), schedulers.ASHA()),
    "bohb": lambda: methods.BOHB(),
    "ss": lambda: compose(samplers.Random(), schedulers.SubSampling()),
    "mss": lambda: compose(samplers.Random(), schedulers.ModifiedSubSampling()),
    "amss": lambda: compose(samplers.Random(), schedulers.AsyncSubSampling()),
    "boss": lambda: methods.BOSS(),
    "boss-mss": lambda: methods.BOSS(rule="mss"),
    "pboss": lambda: methods.ParallelBOSS(),
    "forecast": lambda: methods.Forecast(),
    "bhpt": lambda: methods.BHPT(),
    "bhpt-paper": lambda: methods.BHPT.paper(),
    "bhpt-eps": lambda: methods.BHPT(epsilon=0.5),
    "bhpt-kgm": lambda: methods.BHPT(rule="kgm"),
    "freeze-thaw": lambda: methods.FreezeThaw(),
    "rollout": lambda: methods.Rollout(),
    "fabolas": lambda: methods.Fabolas(),
    "gp-ei": lambda: methods.BayesianOptimization(),
}

# Beyond this many evaluations a fast sampler is preferred: the time to fit models would add up.
_MANY = 1000

# No option of our methods is larger; in a log it is damage, or meant to exhaust the memory.
_LARGEST_OPTION = 10_000_000

_GROUP = "shoestring.methods"
_registered: dict[str, type] = {}


def register(cls: type[T]) -> type[T]:
    """Make a method, sampler or scheduler class of your own known, so that stored studies can rebuild it.

    Use it as a decorator, or name the class as an entry point of the group ``shoestring.methods`` in your
    package's metadata. ``Study.load``, ``shoestring resume`` and ``verify`` then work as with built-in methods.

    >>> from dataclasses import dataclass
    >>> import shoestring as ss
    >>> @ss.methods.register
    ... @dataclass(frozen=True)
    ... class Middle:
    ...     share: float = 0.5
    ...     def propose(self, history, rng):
    ...         ...
    """
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise MethodError(
            f"{cls!r} cannot be registered: only a dataclass can be, because its fields are what the log records"
        )
    _registered[_key(cls)] = cls
    return cls


def names() -> list[str]:
    """All names that ``method=`` takes.

    >>> from shoestring.methods import names
    >>> "asha" in names()
    True
    """
    return [*_NAMED, "auto"]


def named(name: str) -> Method:
    """The method of a name."""
    if name not in _NAMED:
        near = method_elsewhere(name) or difflib.get_close_matches(name, names(), n=2, cutoff=0.6)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
        raise MethodError(f"there is no method {name!r}{hint} Known are {', '.join(names())}")
    method: Method = _NAMED[name]()
    return method


def auto(budget: Budget, max_resource: int | None) -> tuple[Method, str]:
    """A method for what is given, and one line that says which and why."""
    if max_resource is None or max_resource == 1:
        many = min(budget.evaluations or math.inf, budget.steps or math.inf)
        if _MANY < many < math.inf:
            return named("tpe"), f"auto picked tpe: with {budget}, a fast sampler is enough"
        return named("gp"), "auto picked gp: the objective returns one value per trial, so none can be stopped early"
    return named("forecast"), (
        f"auto picked forecast: trials can be stopped early (up to {max_resource} steps each), "
        f"so {budget} goes to the trials with the best forecasts. It assumes that early readings say something about "
        "later ones and that similar configurations learn alike; if not, promotions by rank limit the loss"
    )


def references_of(method: object, bibtex: bool = False) -> list[str]:
    """List the publications of a method and its parts, in words or as BibTeX entries."""
    parts = [method, getattr(method, "sampler", None), getattr(method, "scheduler", None)]
    found = [getattr(part, "reference", None) for part in parts]
    return [bibtex_of(reference) if bibtex else reference for reference in found if reference]


def describe(method: object) -> dict[str, Any]:
    """A method as plain JSON values: its class and, if it is a dataclass, its fields."""
    values = {f.name: getattr(method, f.name) for f in fields(method)} if is_dataclass(method) else {}
    return {"class": _key(type(method)), **{name: _as_json(value) for name, value in values.items()}}


def rebuild(description: Mapping[str, Any], as_before: bool = True) -> Any:
    """The method of a description; None if a class in it is not known or holds more than plain values.

    Options that it does not name are such that it decides as before they were added, or else their defaults of today.
    """
    cls = _class_of(str(description.get("class")))
    named = {name: _from_json(value, as_before) for name, value in description.items() if name != "class"}
    values = (_before(cls) if as_before else {}) | named
    if cls is None or any(value is _UNKNOWN for value in values.values()):
        return None
    try:
        result = cls(**values)
    except Exception as error:  # the stored value can be anything
        raise MethodError(f"the log's method {dict(description)!r} does not fit this version: {error}") from None
    for name, value in values.items():
        if _builtin(cls.__name__) is cls and isinstance(value, (int, float)) and not abs(value) <= _LARGEST_OPTION:
            raise MethodError(f"the log's method has {name}={value!r:.80}, more than {_LARGEST_OPTION}")
    for part, verb in (("sampler", "propose"), ("scheduler", "next")):
        if hasattr(result, part) and not callable(getattr(getattr(result, part), verb, None)):
            raise MethodError(f"the log's method {dict(description)!r} has {getattr(result, part)!r} as its {part}")
    return result


def _before(cls: type | None) -> dict[str, Any]:
    """The options that were added to a class later, with the values that decide as without them."""
    options = fields(cls) if cls is not None and is_dataclass(cls) else ()
    return {option.name: option.metadata["before"] for option in options if "before" in option.metadata}


def rebuild_if_known(description: Mapping[str, Any]) -> Any:
    """Rebuild the method of a description; None if it is unknown or does not fit this version."""
    try:
        return rebuild(description)
    except MethodError:
        return None


def unknown_classes(description: Mapping[str, Any]) -> list[str]:
    """The classes of a description that are neither built in nor registered in this process."""
    inner = [value for value in description.values() if isinstance(value, Mapping) and "class" in value]
    own = str(description.get("class"))
    return [*([] if _class_of(own) else [own]), *(name for value in inner for name in unknown_classes(value))]


def differing_option(stored: Mapping[str, Any], given: Mapping[str, Any], path: str = "method") -> str:
    """The first difference between two descriptions, in words."""
    for name in dict.fromkeys((*stored, *given)):
        ours, theirs = stored.get(name), given.get(name)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping) and ours != theirs:
            return differing_option(ours, theirs, f"{path}.{name}")
        if ours != theirs:
            place = path if name == "class" else f"{path}.{name}"
            return f"{place} was {ours!r} and is now {theirs!r}"
    return f"{path} differs"


def same_method(stored: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether two descriptions are of the same method.

    Options that a log does not name may have their defaults, or be as before they were added.
    """
    if stored == given:
        return True
    again = (rebuild(stored, as_before) for as_before in (False, True))
    return any(method is not None and describe(method) == given for method in again)


_UNKNOWN = object()


def _key(cls: type) -> str:
    """Return how a class is called in a log: by its bare name if it is one of ours."""
    if _builtin(cls.__name__) is cls:
        return cls.__name__
    module = "__main__" if cls.__module__ == "__mp_main__" else cls.__module__  # a script that a worker loaded
    return f"{module}:{cls.__qualname__}"


def _builtin(name: str) -> type | None:
    if name == "Composed":
        return Composed
    for package in (samplers, schedulers, methods):
        if name in package.__all__ and name[0].isupper():
            cls: type = getattr(package, name)
            return cls
    return None


def _class_of(key: str) -> type | None:
    """The class of a key; packages are only imported by the entry points that they declare themselves."""
    from importlib.metadata import entry_points  # needed only for classes of other packages

    found = _builtin(key) or _registered.get(key)
    if found is None:
        for point in entry_points(group=_GROUP):
            if point.attr == key.partition(":")[2] and _key(point.load()) == key:
                return register(point.load())
    return found


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()  # a NumPy scalar or array
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if isinstance(value, (list, tuple)):
        return [_as_json(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return {"object": f"{value.__module__}:{value.__qualname__}"}
    return describe(value) if is_dataclass(value) else {"object": _key(type(value))}


def _from_json(value: Any, as_before: bool) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "object" in value:
        return _UNKNOWN
    if "class" not in value:
        return dict(value)
    part = rebuild(value, as_before)
    return _UNKNOWN if part is None else part
