"""The live display: the budget spent, the best configuration so far, the running trials.

It reads the history from its own thread while the study appends to it. The lists of the history only grow, and a
dictionary is copied in one operation, so a frame is at worst a moment behind. A frame that cannot be drawn is
skipped: the display must never end a study.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from shoestring.core.history import History, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.recommendation import Best
from shoestring.core.workers import ticks
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.views.formatting import amount, best_line, duration, method_name, number, settings, short_path
from shoestring.views.states import states

logger = logging.getLogger("shoestring")

_FRAMES_PER_SECOND = 5
# Drawing may take this share of the time: a study with very many trials is drawn less often.
_SHARE = 0.02
_ROWS = 8


class Display:
    """A live display that cannot fail: an error in it is logged and the study goes on."""

    def __init__(self, journal: Journal, note: str = "", console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._note = note
        self._live = _Live(Screen(journal), console=self._console, refresh_per_second=_FRAMES_PER_SECOND)

    def start(self) -> None:
        with _log_errors("the display could not be started"):
            if self._note:
                self._console.print(Text(self._note, style="dim"))
            self._live.start(refresh=True)

    def stop(self) -> None:
        """Draw the last frame and restore the terminal, even if Ctrl-C is pressed meanwhile."""
        try:
            with _log_errors("the display could not be stopped"):
                self._live.stop()
                if not self._console.is_terminal:
                    self._console.line()  # rich ends the line of the last frame only in a terminal
        finally:
            with _log_errors("the cursor could not be shown"):
                self._console.show_cursor(True)


class _Live(Live):
    def refresh(self) -> None:
        with _log_errors("a frame could not be drawn"):
            super().refresh()


@contextmanager
def _log_errors(message: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        logger.debug("%s: %s", message, error)


class Screen:
    """Frames, each drawn from the current history."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._started = ticks()
        self._spent = journal.history.ledger.spent()
        self._method = method_name(journal.history.opened.method)
        self._frame: RenderableType = Text("")
        self._due = 0.0

    def __rich__(self) -> RenderableType:
        started = ticks()
        if started >= self._due:
            with _log_errors("a frame could not be made"):
                self._frame = self._draw(self._journal.history)
            now = ticks()
            self._due = now + (now - started) / _SHARE
        return self._frame

    def _draw(self, history: History) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        grid.add_row("study", self._headline(history))
        for unit, limit in history.ledger.budget.limits().items():
            grid.add_row(unit, spent_bar(unit, min(history.ledger.spent()[unit], limit), limit))
        grid.add_row("trials", states(history))
        best = history.best()
        grid.add_row("best", best_text(history, best))
        folder = best and checkpoint_of(self._journal.files(), history.trials[best.trial], best.step)
        if folder:
            grid.add_row("checkpoint", short_path(folder))
        for label, row in running_rows(list(history.running.values())):
            grid.add_row(label, row)
        return grid

    def _headline(self, history: History) -> Text:
        elapsed = ticks() - self._started
        line = Text.assemble((self._journal.name, "bold"), f"  {self._method}  {duration(int(elapsed))}")
        left = self._time_left(history, elapsed)
        return line.append(f", about {duration(max(round(left), 1))} left" if left else "")

    def _time_left(self, history: History, elapsed: float) -> float | None:
        """Seconds until the first unit of the budget is used up, at the rate at which it was spent so far."""
        ledger = history.ledger
        spent, limits = ledger.spent(), ledger.budget.limits()
        rates = {unit: (spent[unit] - self._spent[unit]) / elapsed for unit in limits if elapsed > 1}
        left = min(((limits[unit] - spent[unit]) / rate for unit, rate in rates.items() if rate > 0), default=math.inf)
        return left if 0 < left < math.inf else None


def spent_bar(unit: str, spent: float, limit: float) -> RenderableType:
    row = Table.grid(padding=(0, 1))
    row.add_row(ProgressBar(total=limit, completed=spent, width=40), f"{amount(unit, spent)} of {amount(unit, limit)}")
    return row


def best_text(history: History, best: Best | None) -> Text:
    if best is None:
        return Text("no reading yet", style="dim")
    value, _, place = best_line(best, history).partition(" ")
    return Text.assemble((value, "bold green"), f" {place}\n{settings(best.config)}")


def running_rows(trials: list[TrialRecord]) -> Iterator[tuple[str, str]]:
    for row, trial in enumerate(trials[:_ROWS]):
        steps = f"  step {trial.step} of {trial.until}" if trial.until > 1 else ""
        last = trial.readings.get(trial.step)
        value = f"  last {number(last.value)}" if last is not None else ""
        yield "" if row else "running", f"trial {trial.index}{steps}{value}"
    if len(trials) > _ROWS:
        yield "", f"and {len(trials) - _ROWS} more"
