"""Loading a user's file for the objective that it defines.

A script that defines an objective usually also calls ``tune`` at its end. When the file is loaded only for its
objective (by a worker process or by the command line), that call stops the loading instead, so that no
``if __name__ == "__main__"`` is needed.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

from shoestring.errors import ObjectiveError

_loading = 0


class StopLoading(BaseException):
    """Ends the loading of a file; not an Exception, so that the file's own handlers do not catch it."""


def stop_if_loading() -> None:
    if _loading:
        raise StopLoading


def load_file(path: Path, name: str, package: str = "") -> types.ModuleType:
    """The module of a file, run as ``name`` up to its first call of ``tune`` or ``Study.run``.

    A script is loaded under two names, as with multiprocessing: classes that a worker pickled into a checkpoint
    belong to ``__mp_main__``, those that the script itself pickled to ``__main__``.
    """
    global _loading
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ObjectiveError(f"the file {path} cannot be read: {error.strerror}") from None
    module = types.ModuleType("__mp_main__" if name == "__main__" else name)
    module.__file__ = str(path)
    module.__package__ = package  # for the relative imports of a script that was run with python -m
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for known_as in ("__main__", "__mp_main__") if module.__name__ == "__mp_main__" else (name,):
        sys.modules[known_as] = module
    _loading += 1
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except StopLoading:
        pass
    finally:
        _loading -= 1
    return module
