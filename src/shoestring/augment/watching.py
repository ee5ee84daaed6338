"""The search as it goes, for a person: how far it is, how long it will take, which pairs lead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from shoestring.augment.estimates import estimated
from shoestring.augment.policies import PAIRS, PER_PAIR, pair_at
from shoestring.core.workers import ticks
from shoestring.ui.formatting import duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shoestring.augment.searching import Search

_FRAMES_PER_SECOND = 2
_BEST = 5


@contextmanager
def watched(search: Search, progress: bool | None, console: Console | None = None) -> Iterator[None]:
    """Show a search while it runs; if nothing is said, only on a terminal."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield
        return
    from rich.console import Console as NewConsole
    from rich.live import Live

    screen = Screen(search)
    with Live(
        get_renderable=screen.draw, console=console or NewConsole(stderr=True), refresh_per_second=_FRAMES_PER_SECOND
    ):
        yield


class Screen:
    """One frame after another, each from the search as it stands."""

    def __init__(self, search: Search) -> None:
        self._search, self._began, self._first = search, ticks(), search.step

    def draw(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        search = self._search
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        if search.total:
            grid.add_row("steps", ProgressBar(total=search.total, completed=search.step, width=40))
        rounds = search.settings.rounds
        where = "first pass" if search.round == 0 else f"round {min(search.round, rounds)} of {rounds}"
        grid.add_row("", f"{search.step:,} of {search.total or '?'}, {where}{self._left()}")
        grid.add_row("in play", f"{int(search.bandit.active.sum()):,} policies")
        for row, line in enumerate(leading(search, _BEST)):
            grid.add_row("" if row else "best pairs", line)
        return grid

    def _left(self) -> str:
        done = self._search.step - self._first
        if not done or self._search.total is None:
            return ""
        left = (ticks() - self._began) / done * (self._search.total - self._search.step)
        return f", about {duration(max(left, 1))} left" if left > 0 else ""


def leading(search: Search, number: int) -> list[str]:
    """The pairs with the best estimates so far, in words."""
    plays = search.bandit.counts.reshape(PAIRS, PER_PAIR).sum(axis=1)
    values = np.where(plays > 0, estimated(search.bandit, search.settings.estimate).pairs, -np.inf)
    best = [int(index) for index in np.argsort(-values, kind="stable")[:number] if plays[index]]
    return [f"{pair_at(index)}  {values[index]:.3f} from {plays[index]} plays" for index in best]
