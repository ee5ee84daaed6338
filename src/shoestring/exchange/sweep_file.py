"""Sweep files of Weights & Biases, and a minimal format of our own with a budget."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoestring.errors import MethodError, ObjectiveError, SpaceError
from shoestring.exchange.wandb_sweep import Sweep, from_wandb, is_wandb_sweep, refuse_unknown
from shoestring.objectives.command.definition import Command
from shoestring.spaces.written import from_yaml

_OWN = (
    "objective", "command", "space", "budget", "method", "mode", "max_resource", "value", "value_file", "every",
    "storage", "name", "seed", "workers", "recommend", "past", "guess", "target", "patience", "retries",
)  # fmt: skip
_OPTIONS = ("budget", "method", "mode", "max_resource", "storage", "name", "seed", "workers", "recommend", "past",
            "guess", "target", "patience", "retries")  # fmt: skip


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file.

    Numbers follow YAML 1.2: 1e-4 is a number, and 1:4 is a text, a range here.
    """
    try:
        import yaml  # the extra sweeps
    except ImportError:
        raise MethodError("a sweep file needs PyYAML: pip install 'shoestring[sweeps]'") from None
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), _loader(yaml))
    except FileNotFoundError:
        raise ObjectiveError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ObjectiveError(f"{path} cannot be read: {error}") from None
    if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
        raise ObjectiveError(f"{path} is not a sweep: it must have command: or program:, and what is tuned")
    return from_wandb(given) if is_wandb_sweep(given) else from_own(given)


def from_own(given: Mapping[str, Any]) -> Sweep:
    """The minimal format: ``command`` or ``objective``, ``space``, ``budget``, and options by their names here.

    >>> from_own({"command": ["sh", "-c", "echo {x}"], "space": {"x": "0.0:1.0"}, "budget": "9 evaluations"}).space
    {'x': (0.0, 1.0)}
    """
    refuse_unknown(given, _OWN, "a sweep")
    if ("command" in given) == ("objective" in given):
        raise ObjectiveError("a sweep has command: or objective: FILE:OBJECTIVE, one of them")
    space = given.get("space")
    if isinstance(space, dict):
        space = {name: from_yaml(str(name), spec) for name, spec in space.items()}
    elif space is not None and not isinstance(space, str):
        raise SpaceError(f"space is {space!r:.80}; give the parameters, or FILE:SPACE")
    options = {name: given[name] for name in _OPTIONS if name in given}
    if "objective" in given:
        for name in ("value", "value_file", "every"):
            if name in given:
                raise ObjectiveError(f"{name}: is for a command, and objective: is a function")
        return Sweep(str(given["objective"]), space, options)
    command = Command(given["command"], given.get("value"), given.get("value_file"), every=given.get("every"))
    if not command.iterative and "max_resource" in given:
        command = Command(command.argv, command.value, command.file, steps=given["max_resource"])
    return Sweep(command, space, options)


def _loader(yaml: Any) -> Any:
    """The safe loader of PyYAML with the numbers of YAML 1.2, in which nothing counts in sixties."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    numbers = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in numbers]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    whole, real = r"[-+]?(?:0|[1-9][0-9]*)", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    first = list("-+.0123456789")
    Loader.add_implicit_resolver(numbers[0], re.compile(f"{whole}$"), first)
    Loader.add_implicit_resolver(numbers[1], re.compile(f"(?:{real}|[-+]?\\.inf|\\.nan)$", re.IGNORECASE), first)
    return Loader
