"""The reference of the public names, as Markdown from the docstrings; docs/site_pages.py makes pages of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import shoestring


def _packages() -> tuple[str, ...]:
    """shoestring and its public packages; its errors are few, and their module lists them."""
    inner = [name for name in shoestring.__all__ if inspect.ismodule(getattr(shoestring, name)) and name != "errors"]
    return ("shoestring", *(f"shoestring.{name}" for name in sorted([*inner, "logs", "online.networks", "testing"])))


PACKAGES = _packages()


def public(package: str) -> dict[str, Any]:
    """The public names of a package that can be imported here, without its subpackages."""
    module = import_module(package)
    found = {}
    for name in sorted(module.__all__, key=str.casefold):
        try:
            value = getattr(module, name)
        except ImportError:  # it needs an extra
            continue
        if not inspect.ismodule(value):
            found[name] = value
    return found


def page_of(package: str) -> str:
    """Write the reference of a package: its purpose, and each name with its signature and its docstring."""
    parts = [f"# {package}", _markdown(inspect.getdoc(import_module(package)) or "")]
    for name, value in public(package).items():
        parts += [f"## {name}", *_describe(name, value)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _describe(name: str, value: Any) -> Iterator[str]:
    if callable(value):
        yield _signature(name, value)
    yield _markdown(own_doc(value))
    if inspect.isclass(value):
        for method, member in _members(value):
            yield f"### {name}.{method}"
            if callable(member):
                yield _signature(method, member, bound=True)
            yield _markdown(inspect.getdoc(member) or "")


def own_doc(value: Any) -> str:
    """Find the docstring written for a value, not the generated one of a dataclass or of an instance's class."""
    if not callable(value) and not inspect.isclass(value):
        return ""
    doc = inspect.getdoc(value) or ""
    made_up = inspect.isclass(value) and dataclasses.is_dataclass(value) and doc.startswith(f"{value.__name__}(")
    return "" if made_up else doc


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class documents itself."""
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            member = getattr(cls, name)
        shown = isinstance(member, property) or inspect.isfunction(member) or inspect.ismethod(member)
        if shown and inspect.getdoc(member):
            yield name, member


def _signature(name: str, value: Any, bound: bool = False) -> str:
    try:
        signature = inspect.signature(value)
    except ValueError:
        return ""
    parameters = [p for p in signature.parameters.values() if not p.name.startswith("_")]
    if bound and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    text = f"{name}{signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"
    if len(text) > 100:
        inside = text[len(name) + 1 : -1]
        text = f"{name}(\n{textwrap.fill(inside, 96, initial_indent='    ', subsequent_indent='    ')}\n)"
    return f"```python\n{text}\n```"


def _markdown(doc: str) -> str:
    """A docstring, as Markdown: its examples and tables as code, its roles as code, the rest unchanged."""
    doc = re.sub(r":\w+:`~?([^`]+)`", lambda found: f"`{found[1]}`", doc).replace("``", "`")
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", doc):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```pycon\n{textwrap.dedent(block)}\n```")
        elif re.match(r"\s*={3,}", block):
            blocks.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            blocks.append(_prose(block))
    return "\n\n".join(blocks)


def _prose(block: str) -> str:
    """Prose, and what follows it: an example without an empty line before it, or a block after two colons."""
    text, mark, example = block.partition("\n>>>")
    example = f"\n\n```pycon\n>>>{example}\n```" if mark else ""
    if text.startswith("    "):
        return f"```python\n{textwrap.dedent(text)}\n```{example}"
    return re.sub(r"::$", ":", text).replace("<", "&lt;") + example
