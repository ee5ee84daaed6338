"""Decisions, and the protocols of methods, samplers and schedulers.

A :class:`Method` answers one question: given the history, what next? A *scheduler* decides how long to run each trial,
and asks for a new configuration by a :class:`Start` without one; a *sampler* proposes that configuration.
:func:`~shoestring.compose` joins the two. All are pure functions of the history and of the generator they are given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np

from shoestring.core.history import History
from shoestring.errors import CorruptLog, MethodError
from shoestring.spaces.codec import Config

T = TypeVar("T")

# The grounds of a decision, for people to read; no code reads it back.
Explanation = Mapping[str, Any]


@dataclass(frozen=True)
class Start:
    """Run a new configuration until a step. A scheduler leaves ``config`` open; a sampler fills it in.

    ``state`` is a frozen dataclass of plain values, which is stored with the grant for the method (or its scheduler)
    to read back; the state of the sampler is stored separately, so that neither can write what the other reads.
    """

    until: int
    reason: str
    config: Config | None = None
    explanation: Explanation = field(default_factory=dict)
    state: Any = None
    sampler_state: Any = None


@dataclass(frozen=True)
class Continue:
    """Run a paused trial on, until a later step."""

    trial: int
    until: int
    reason: str
    explanation: Explanation = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True)
class Replicate:
    """Run a known configuration once more, from a fresh initialisation."""

    arm: int
    until: int
    reason: str
    explanation: Explanation = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True)
class Wait:
    """Nothing to start until something that is running reports."""

    reason: str


@dataclass(frozen=True)
class Done:
    """Nothing left to do, whatever the budget."""

    reason: str


Decision = Start | Continue | Replicate | Wait | Done


@dataclass(frozen=True)
class Proposal:
    """A configuration to try, and why. ``state`` is the sampler's own, as in :class:`Start`."""

    config: Config
    reason: str
    explanation: Explanation = field(default_factory=dict)
    state: Any = None


class Method(Protocol):
    def decide(self, history: History, rng: np.random.Generator) -> Decision: ...


class Sampler(Protocol):
    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        """A configuration to try, or None if there is nothing left to propose."""
        ...


class Scheduler(Protocol):
    def next(self, history: History, may_start: bool = True) -> Decision:
        """Decide what to run now; with ``may_start`` false there are no new configurations."""
        ...


def read_state(kind: type[T], stored: Mapping[str, Any] | None) -> T | None:
    """Read a component's state that was written with a grant; None if the grant has no state of this kind."""
    if stored is None or stored.get("kind") != kind.__name__:
        return None
    values = {name: value for name, value in stored.items() if name != "kind"}
    cls: Any = kind
    types = _types(cls)
    if values.keys() != types.keys() or any(type(values[name]) is not types[name] for name in types):
        raise CorruptLog(f"the log holds {dict(stored)!r} where the state of a {kind.__name__} was expected")
    return kind(**values)


def write_state(state: Any) -> dict[str, Any] | None:
    """Convert a component's state to the form that is written with a grant."""
    if state is None:
        return None
    types = _types(state.__class__) if is_dataclass(state) else {}
    if not is_dataclass(state) or "kind" in types or set(types.values()) - {int, float, str, bool}:
        raise MethodError(
            f"state is {state!r}; it must be a frozen dataclass with fields of int, float, str or bool, none named kind"
        )
    return {"kind": type(state).__name__, **{name: kind(getattr(state, name)) for name, kind in types.items()}}


@cache
def _types(kind: Any) -> dict[str, type]:
    return get_type_hints(kind)


def plain(value: Any) -> Any:
    """Convert an explanation to JSON values: NumPy scalars and tuples become plain, other types become text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    finite = isinstance(value, float) and math.isfinite(value)
    return value if finite or value is None or isinstance(value, (bool, int, str)) else str(value)
