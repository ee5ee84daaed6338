"""Checks of the options of methods, samplers and schedulers, with errors that say what is allowed."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from shoestring.errors import MethodError


@cache
def _choices(cls: type) -> dict[str, tuple[Any, ...]]:
    """The fields of a dataclass that are a ``Literal`` (or one or None), and what each allows."""
    hints, found = get_type_hints(cls), {}
    for f in fields(cls):
        union = get_origin(hints[f.name]) in (Union, UnionType)
        parts = get_args(hints[f.name]) if union else (hints[f.name],)
        if any(get_origin(part) is Literal for part in parts):
            found[f.name] = tuple(v for p in parts for v in (get_args(p) if get_origin(p) is Literal else (None,)))
    return found


def check_choices(component: Any) -> None:
    """Every field that is a ``Literal`` has one of its values."""
    for name, allowed in _choices(component.__class__).items():
        value = getattr(component, name)
        if value not in allowed:
            raise MethodError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")


def check_whole(component: Any, what: str = "", **least: int) -> None:
    """Check that each of these fields is a whole number from a minimum on, or None where that is its default."""
    for name, bound in least.items():
        value = getattr(component, name)
        if value is None and getattr(type(component), name, 0) is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < bound:
            raise MethodError(f"{name} is {value!r}; it must be {what or 'a whole number'} from {bound}")


def check_number(component: Any, name: str, what: str, low: float, high: float = math.inf, ends: str = "[)") -> None:
    """A field is a number between two bounds; ``ends`` says which of them it may be itself."""
    value = getattr(component, name)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    above = number and (value >= low if ends[0] == "[" else value > low)
    below = number and (value <= high if ends[1] == "]" else value < high)
    if not (above and below):
        raise MethodError(f"{name} is {value!r}; it must be {what}")
