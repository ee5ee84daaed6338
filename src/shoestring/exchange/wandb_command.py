"""The command of a sweep of Weights & Biases as one of ours: its macros become arguments with placeholders."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoestring.errors import ObjectiveError
from shoestring.exchange.wandb_space import Spec, is_constant, is_text

_DEFAULT = ("${env}", "${interpreter}", "${program}", "${args}")
_VARIABLE = re.compile(r"\$\{envvar:(\w+)\}")
_MACRO = re.compile(r"\$\{[^}]*\}")
# How each macro writes a parameter and its value.
_FLAGS: dict[str, Callable[[str, str], list[str]]] = {
    "${args}": lambda name, value: [f"--{name}={value}"],
    "${args_no_boolean_flags}": lambda name, value: [f"--{name}={value}"],
    "${args_no_equals}": lambda name, value: [f"--{name}", value],
    "${args_no_hyphens}": lambda name, value: [f"{name}={value}"],
    "${args_append_hydra}": lambda name, value: [f"+{name}={value}"],
    "${args_override_hydra}": lambda name, value: [f"++{name}={value}"],
}


def command_of(
    given: Mapping[str, Any], parameters: Mapping[str, Any], environment: Mapping[str, str]
) -> tuple[list[str], bool]:
    """The arguments of a command, and whether true and false are written as JSON."""
    words = given.get("command", _DEFAULT)
    if isinstance(words, str) or not isinstance(words, (list, tuple)) or not words:
        raise ObjectiveError(f"command is {words!r:.80}; it must be a list, such as [python, train.py, '${{args}}']")
    texts = [str(word) for word in words]
    as_json = "${args_json}" in texts
    if as_json and set(texts) & _FLAGS.keys() and any(_has_words(spec) for spec in parameters.values()):
        raise ObjectiveError("the command has ${args_json} and flags, which write true and false in two ways")
    argv = [argument for text in texts for argument in _expand(text, given, parameters, environment)]
    return argv, as_json


def _expand(
    text: str, given: Mapping[str, Any], parameters: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[str]:
    """The arguments that one word of the command stands for."""
    if text in _FLAGS:
        if text == "${args_no_boolean_flags}" and any(_has_words(spec) for spec in parameters.values()):
            raise ObjectiveError(
                "'${args_no_boolean_flags}' has no counterpart here where a parameter is true or false; "
                "use ${args}, and let the program read --flag=True"
            )
        for name, spec in parameters.items():
            yield from _FLAGS[text](_braces(name), _value(name, spec))
    elif text == "${args_json}":
        yield _nest("", parameters, json.dumps, '"')
    elif text != "${env}":  # which finds the program, as we do
        text = _VARIABLE.sub(lambda found: environment.get(found[1], found[1]), text)
        yield _braces(_MACRO.sub(lambda found: _macro(found[0], given), text))


def _macro(macro: str, given: Mapping[str, Any]) -> str:
    if macro == "${interpreter}":
        return "python"
    if macro == "${program}":
        if not isinstance(given.get("program"), str):
            raise ObjectiveError(f"program is {given.get('program')!r:.80}; name the program that the sweep runs")
        return str(given["program"])
    raise ObjectiveError(f"{macro!r} in the command has no counterpart here; known are ${{env}}, ${{interpreter}}, "
                         f"${{program}}, ${{envvar:NAME}}, {', '.join(_FLAGS)} and ${{args_json}}")  # fmt: skip


def _value(name: str, spec: Spec) -> str:
    """A parameter as W&B writes its value into an argument, which is how Python shows it."""
    if "parameters" in spec:
        return _nest(f"{name}.", spec["parameters"], repr, "'")
    return _braces(str(spec["value"])) if is_constant(spec) else f"{{{name}}}"


def _nest(prefix: str, parameters: Mapping[str, Any], write: Callable[[Any], str], quote: str) -> str:
    """A group of parameters as a dictionary; ``write`` shows names and constants, ``quote`` goes around texts."""
    parts = []
    for name, spec in parameters.items():
        full = f"{prefix}{name}"
        if "parameters" in spec:
            value = _nest(f"{full}.", spec["parameters"], write, quote)
        elif is_constant(spec):
            value = _braces(write(spec["value"]))
        else:
            around = quote if is_text(full, spec) else ""
            value = f"{around}{{{full}}}{around}"
        parts.append(f"{_braces(write(name))}: {value}")
    return f"{{{{{', '.join(parts)}}}}}"


def _has_words(spec: Spec) -> bool:
    """True if a parameter has values that Python and JSON write differently."""
    if "parameters" in spec:
        return any(map(_has_words, spec["parameters"].values()))
    return any(value is None or isinstance(value, bool) for value in [*spec.get("values", ()), spec.get("value", 0)])


def _braces(text: str) -> str:
    """A text in which nothing is a placeholder."""
    return text.replace("{", "{{").replace("}", "}}")
