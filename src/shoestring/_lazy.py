"""Loading on first use, in one place: numpy, scipy and the like take longer to import than many a study to open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from shoestring._other_names import missing_attribute


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package whose names are imported on first use.

    ``modules`` has the names of each module of the package, separated by spaces; the name of the module itself is
    the module.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise missing_attribute(package, f"module {package!r}", name, homes)
        module = import_module(f"{package}.{homes[name]}")
        value = module if homes[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), load, lambda: sorted(homes)


def with_torch(package: str, load: Callable[[str], Any]) -> Callable[[str], Any]:
    """``__getattr__`` of a package of which some names need torch: without it an error says what to install."""

    def load_or_explain(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            message = f"{package}.{name} needs torch: pip install 'shoestring[augment]'"
            raise ModuleNotFoundError(message, name="torch") from error

    return load_or_explain
