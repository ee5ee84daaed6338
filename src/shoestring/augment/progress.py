"""The live display of a search: steps done, time left, and the leading pairs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from shoestring.augment.policies import Pair
from shoestring.core.workers import ticks
from shoestring.views.formatting import duration

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoestring.augment.bandit_search import Search

_FRAMES_PER_SECOND = 2
_SHOWN = 5


@contextmanager
def show_progress(search: Search, progress: bool | None) -> Iterator[None]:
    """Show a search while it runs. None shows it if standard error is a terminal."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield
        return
    from rich.console import Console
    from rich.live import Live

    started, first = ticks(), search.step
    with Live(
        get_renderable=lambda: _frame(search, ticks() - started, search.step - first),
        console=Console(stderr=True),
        refresh_per_second=_FRAMES_PER_SECOND,
    ):
        yield


def _frame(search: Search, elapsed: float, done: int) -> RenderableType:
    """Render the display after ``elapsed`` seconds and ``done`` steps."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    left = ""
    if search.total:
        grid.add_row("steps", ProgressBar(total=search.total, completed=search.step, width=40))
        seconds = elapsed / max(done, 1) * (search.total - search.step)
        left = f", about {duration(max(seconds, 1))} left" if done and seconds > 0 else ""
    rounds = search.settings.rounds
    position = "first pass" if search.round == 0 else f"round {min(search.round, rounds)} of {rounds}"
    grid.add_row("", f"{search.step:,} of {search.total or '?'}, {position}{left}")
    grid.add_row("active", f"{int(search.bandit.active.sum()):,} policies")
    for row, line in enumerate(_leading_pairs(search)):
        grid.add_row("" if row else "best pairs", line)
    return grid


def _leading_pairs(search: Search) -> list[str]:
    """The pairs with the best estimates so far, one a line."""
    estimates = search.bandit.estimates(search.settings.estimate)
    plays = estimates.pair_counts
    values = np.where(plays > 0, estimates.pairs, -np.inf)
    best = [int(index) for index in np.argsort(-values, kind="stable")[:_SHOWN] if plays[index]]
    return [f"{Pair.at(index)}  {values[index]:.3f} from {plays[index]} plays" for index in best]
