"""Parameters as people write them outside of Python: on a command line, in a file, in a request.

============================================== =======================================
text, in :func:`from_text`                     JSON or YAML, in :func:`from_plain`
============================================== =======================================
``0.0:0.99``                                   ``{"float": [0, 0.99]}``
``log:1e-4:1``                                 ``{"float": [1e-4, 1], "log": true}``
``1:4``                                        ``{"int": [1, 4]}``, or with ``"step"``
``relu,tanh`` or ``["relu", "tanh"]``          ``{"choice": ["relu", "tanh"]}``
============================================== =======================================

JSON has one kind of number, so there every parameter says its kind.
"""

from __future__ import annotations

import json
import re
from typing import Any

from shoestring.errors import SpaceError
from shoestring.spaces.parameters import ints, log

_FORMS = '{"float": [0, 1]}, {"float": [1e-4, 1], "log": true}, {"int": [1, 4]} or {"choice": ["relu", "tanh"]}'


def from_text(name: str, text: str, where: str = "") -> Any:
    """A parameter that was written as a text; ``where`` goes before its name in messages.

    >>> from_text("lr", "0.1:1"), from_text("layers", "1:4"), from_text("act", "relu,tanh")
    ((0.1, 1.0), (1, 4), ['relu', 'tanh'])
    """
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise SpaceError(f"{where}{name}={text} begins like a list of JSON, but is not one: {error}") from None
    logarithmic, bounds = text.startswith("log:"), text.removeprefix("log:").split(":")
    numbers = [number_in(bound) for bound in bounds]
    if len(numbers) == 2 and None not in numbers:
        return log(*numbers) if logarithmic else _pair(*numbers)  # type: ignore[arg-type]
    if logarithmic:
        raise SpaceError(f"{where}{name}={text}: a log range is log:LOW:HIGH, such as log:1e-4:1")
    if re.match(r"[+-]?\.?\d", text) and "," not in text and number_in(text) is None:
        raise SpaceError(
            f"{where}{name}={text} is not a range; write LOW:HIGH, such as {name}=0.0:1.0, or choices, {name}=a,b"
        )
    return [choice.strip() for choice in text.split(",")]


def is_range(text: str) -> bool:
    """True if a text is written as a range.

    >>> is_range("log:1e-4:1"), is_range("1:4"), is_range("relu,tanh"), is_range("a:b")
    (True, True, False, False)
    """
    bounds = text.removeprefix("log:").split(":")
    return text.startswith("log:") or (len(bounds) == 2 and all(number_in(bound) is not None for bound in bounds))


def _pair(low: float, high: float) -> tuple[float, float]:
    whole = isinstance(low, int) and isinstance(high, int)
    return (low, high) if whole else (float(low), float(high))


def number_in(text: str) -> float | None:
    """The number that a text is, whole or real; None if it is not one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def from_plain(name: str, spec: Any) -> Any:
    """A parameter that was written as an object of JSON.

    >>> from_plain("lr", {"float": [0, 1]}), from_plain("act", {"choice": ["relu", "tanh"]})
    ((0.0, 1.0), ['relu', 'tanh'])
    """
    match spec:
        case {"choice": [*choices], **others} if not others:
            return choices
        case {"float": [int() | float() as low, int() | float() as high], **others} if others.keys() <= {"log"}:
            return log(float(low), float(high)) if others.get("log") else (float(low), float(high))
        case {"int": [low, high], **others} if others.keys() <= {"log", "step"}:
            return ints(low, high, step=spec.get("step", 1), log=bool(spec.get("log")))
    raise SpaceError(f"the parameter {name!r:.80} is {spec!r:.80}; write {_FORMS}")


def space_from_plain(given: object) -> dict[str, Any]:
    """A search space that was written as an object of JSON."""
    if not isinstance(given, dict) or not given:
        raise SpaceError(f"the space is {given!r:.80}; give an object with, for every parameter, {_FORMS}")
    return {name: from_plain(name, spec) for name, spec in given.items()}


def from_yaml(name: str, spec: Any) -> Any:
    """A parameter of a file: a text, an object of JSON, a list of choices, or one value."""
    if isinstance(spec, str):
        return from_text(name, spec) if is_range(spec) or "," in spec else spec
    return from_plain(name, spec) if isinstance(spec, dict) else spec
