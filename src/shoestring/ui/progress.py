"""Shows the progress of a study while it runs, if the output is a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shoestring.core.journal import Journal

logger = logging.getLogger("shoestring")


@contextmanager
def watch(journal: Journal, progress: bool | None, note: str = "") -> Iterator[None]:
    """Show the progress of a study: always (True), never (False), or if standard error is a terminal (None).

    The display redraws itself a few times a second from its own thread, also during long steps.
    """
    if note:
        logger.info(note)
    if not (_is_terminal() if progress is None else progress):
        yield
        return
    from shoestring.ui.display import Display

    display = Display(journal, note)
    display.start()
    try:
        yield
    finally:
        display.stop()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it is missing or closed
        return False
