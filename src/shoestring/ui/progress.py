"""What a person sees while a study runs; nothing at all when the output is not a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shoestring.core.journal import Journal

logger = logging.getLogger("shoestring")


@contextmanager
def watch(journal: Journal, progress: bool | None, note: str = "") -> Iterator[None]:
    """Show how the study goes. None shows it if standard error is a terminal, True and False always and never.

    The display redraws itself a few times a second from a thread of its own, so that it goes on
    during long steps.
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
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
