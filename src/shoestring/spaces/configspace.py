"""ConfigSpace, imported without ``scipy.stats``.

ConfigSpace imports ``scipy.stats`` when it is loaded. That takes a second of CPU in every process, and only normal and
beta parameters need it. While ConfigSpace is imported here, placeholders stand in for ``scipy.stats``: their names are
looked up in the real module when they are used. Afterwards ``import scipy.stats`` imports the real module as usual.

``sys.modules`` is the only place for them: ``importlib.util.LazyLoader`` loads a module as soon as a name is imported
from it, and ConfigSpace writes ``from scipy.stats import uniform``.
"""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

_DEFERRED = ("scipy.stats", "scipy.stats._distn_infrastructure")


class _DeferredCall:
    """A call of a deferred name; made when an attribute of its result is used."""

    def __init__(self, module: str, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._call = module, name, args, options

    @cached_property
    def result(self) -> Any:
        module, name, args, options = self._call
        return getattr(import_module(module), name)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result, name)


class _DeferredName(type):
    """A name of a deferred module, as a class so that it can be called and asked for instances."""

    module: str

    def _real(cls) -> Any:
        return getattr(import_module(cls.module), cls.__name__)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return _DeferredCall(cls.module, cls.__name__, args, options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance.result if type(instance) is _DeferredCall else instance, cls._real())

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._real(), name)


class _DeferredModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _DeferredName(name, (), {"module": self.__name__})


def _import() -> ModuleType:
    if any(name in sys.modules for name in ("ConfigSpace", *_DEFERRED)):
        return import_module("ConfigSpace")
    placeholders = {name: _DeferredModule(name) for name in _DEFERRED}
    sys.modules.update(placeholders)
    try:
        return import_module("ConfigSpace")
    finally:
        for name, placeholder in placeholders.items():
            if sys.modules.get(name) is placeholder:
                del sys.modules[name]


if TYPE_CHECKING:
    import ConfigSpace as ConfigSpace
else:
    ConfigSpace = _import()
