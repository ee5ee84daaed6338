"""Ctrl-C during a run in a script: it ends with one line that says how to continue, in place of a traceback.

The exception is raised on, so a script can catch it, and a notebook shows the line below its traceback, as a note.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from shoestring.core.event_log import EventLog
from shoestring.errors import ShoestringError
from shoestring.logs.memory import MemoryLog


@contextmanager
def explain_interrupt(log: EventLog, repeats: Callable[[], int]) -> Iterator[None]:
    """Add to a KeyboardInterrupt what happens to the study; ``repeats`` counts the steps that will be run again."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not isinstance(log, MemoryLog):
            line = f"Interrupted{repeats_in_words(repeats)}. Continue with: {_this_command()}"
        else:
            line = "Interrupted. The study was in memory only; with storage= and name=, the same call would continue it"
        interrupt.add_note(line)
        _show_only(line)
        raise


def repeats_in_words(repeats: Callable[[], int] | None) -> str:
    """Say how many steps will be run again when a study continues; nothing if that is not known."""
    try:
        steps = repeats() if repeats else None
    except (ShoestringError, OSError):  # the study was not even opened, or its storage was deleted
        steps = None
    if steps is None:
        return ""
    if steps == 0:
        return "; no step will be run again"
    return f"; {steps} steps have no checkpoint, and are run again and charged if their trials continue"


def _this_command() -> str:
    """The command that started this process, as one would type it again."""
    if not sys.orig_argv or "-c" in sys.orig_argv[:2] or len(sys.orig_argv) == 1:
        return "the same call"
    return shlex.join([Path(sys.orig_argv[0]).name, *sys.orig_argv[1:]])


def _show_only(line: str) -> None:
    """Print the line in place of the traceback, if nothing catches the exception that has it as a note."""
    previous = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt) and line in getattr(error, "__notes__", ()):
            print(f"\n{line}", file=sys.stderr)
        else:
            previous(kind, error, trace)

    sys.excepthook = show
