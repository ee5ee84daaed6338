"""Progress in a notebook, without widgets: one piece of HTML that is drawn again while the study runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from typing import Any

from shoestring.core.journal import Journal
from shoestring.core.workers import ticks
from shoestring.display.html import STYLE, budget_bar, text
from shoestring.views.formatting import best_line, duration, settings
from shoestring.views.states import states

_logger = logging.getLogger("shoestring")

_SECONDS = 0.5  # between two frames
_ROWS = 8


@contextmanager
def notebook_display(journal: Journal, note: str = "") -> Iterator[None]:
    """Show the progress of a study in the output of the cell; an error in it is logged and the study goes on."""
    shown: Any = import_module("IPython.display")
    over, started = threading.Event(), ticks()
    handle = shown.display(shown.HTML(""), display_id=True)

    def draw() -> None:
        try:
            handle.update(shown.HTML(frame(journal, note, ticks() - started)))
        except Exception as error:
            _logger.debug("a frame could not be drawn: %s", error)

    def redraw() -> None:
        while not over.wait(_SECONDS):
            draw()

    # In the context of the cell: a kernel finds there which cell an output belongs to.
    thread = threading.Thread(target=copy_context().run, args=(redraw,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        draw()


def frame(journal: Journal, note: str, elapsed: float) -> str:
    """Render a study that runs: the budget spent, the best so far, and the running trials."""
    history = journal.history
    spent = history.ledger.spent()
    bars = [budget_bar(unit, min(spent[unit], limit), limit) for unit, limit in history.ledger.budget.limits().items()]
    best = history.best()
    found = "no reading yet" if best is None else f"{best_line(best, history)}: {settings(best.config)}"
    running = list(history.running.values())
    rows = [f"trial {trial.index}: step {trial.step} of {trial.until}" for trial in running[:_ROWS]]
    if len(running) > _ROWS:
        rows.append(f"and {len(running) - _ROWS} more")
    lines = [
        f"<b>{text(journal.name)}</b> {text(duration(int(elapsed)))}",
        f"{len(history.trials)} trials: {text(states(history))}",
        f"best: {text(found)}",
        *([f"running: {text('; '.join(rows))}"] if rows else []),
    ]
    shown = "".join(f"<p>{line}</p>" for line in lines)
    quiet = f'<p class="quiet">{text(note)}</p>' if note else ""
    return f'<style>{STYLE}</style><div class="shoestring">{quiet}{"".join(bars)}{shown}</div>'
