"""A configuration as text that can be pasted elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*")
# What YAML reads as something else than a text.
_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")


def as_python(config: Mapping[str, Any]) -> str:
    """A dictionary of Python.

    >>> as_python({"rate": 0.1, "act": "relu"})
    "{'rate': 0.1, 'act': 'relu'}"
    """
    return repr(dict(config))


def as_yaml(config: Mapping[str, Any]) -> str:
    """A line of YAML for each parameter.

    >>> print(as_yaml({"rate": 0.1, "act": "re: lu", "nesterov": True}))
    rate: 0.1
    act: "re: lu"
    nesterov: true
    """
    return "\n".join(f"{_key(name)}: {_yaml(value)}" for name, value in config.items())


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else json.dumps(name)


def _yaml(value: Any) -> str:
    """JSON, which is YAML; but YAML takes 1e-05 for a text, so a number has a point."""
    text = json.dumps(value, default=str)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def as_options(config: Mapping[str, Any]) -> str:
    """Options of a command line.

    >>> as_options({"rate": 0.1, "act": "leaky relu"})
    "--rate 0.1 --act 'leaky relu'"
    """
    return shlex.join(word for name, value in config.items() for word in (f"--{name}", str(value)))
