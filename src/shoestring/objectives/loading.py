"""Importing a user's file for the objective that it defines.

The command line does this; code under ``if __name__ == "__main__":`` does not run then. A worker process loads no
script: it is sent the objective (``shipping.py``).
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

from shoestring.errors import ObjectiveError

_loading = 0
# The name of a script that was imported, as with multiprocessing. It is also a name of the main module, so what a trial
# pickled into its checkpoint is found again, whether it was the script itself or the command line that ran the trial.
SCRIPT = "__mp_main__"
sys.modules.setdefault(SCRIPT, sys.modules["__main__"])


class _CalledWhileLoading(BaseException):
    """Ends the loading of a file; not an Exception, so that the file's own handlers do not catch it."""


def refuse_while_loading() -> None:
    """Called by what runs a study: a file that is only imported must not run one."""
    if _loading:
        raise _CalledWhileLoading


def load_file(path: Path) -> types.ModuleType:
    """Import a file as a module, in the place of the script of this process."""
    global _loading
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ObjectiveError(f"the file {path} cannot be read: {error.strerror}") from None
    module = types.ModuleType(SCRIPT)
    module.__file__ = str(path)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules["__main__"] = sys.modules[SCRIPT] = module
    _loading += 1
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except _CalledWhileLoading:
        raise ObjectiveError(
            f"{path.name} runs a study when it is imported; put its calls of tune and Study.run under "
            '`if __name__ == "__main__":`, or run the file itself with python'
        ) from None
    finally:
        _loading -= 1
    return module
