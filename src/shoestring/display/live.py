"""Shows the progress of a study while it runs, in a terminal or a notebook."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shoestring.core.journal import Journal
from shoestring.display.notebook import notebook_display

logger = logging.getLogger("shoestring")


@contextmanager
def watch(journal: Journal, progress: bool | None, note: str = "") -> Iterator[None]:
    """Show the progress of a study: always (True), never (False), or in a terminal and in a notebook (None).

    The display redraws itself a few times a second from its own thread, also during long steps.
    """
    if note:
        logger.info(note)
    if not (_is_terminal() or in_notebook() if progress is None else progress):
        yield
        return
    if in_notebook():
        with notebook_display(journal, note):
            yield
        return
    from shoestring.display.terminal import Display  # here because it imports rich

    display = Display(journal, note)
    display.start()
    try:
        yield
    finally:
        display.stop()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it is missing or closed
        return False
