"""The screen of ``shoestring watch``."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoestring._text import one_line
from shoestring.core.budget import UNITS
from shoestring.display.terminal import best_text, running_rows, spent_bar
from shoestring.views.formatting import amount, method_name
from shoestring.views.states import STATES, is_over, state_words, states
from shoestring.views.summaries import accounts, failure_groups
from shoestring.views.trace import Trace
from shoestring.views.trends import trend_rows

_MOST_FAILURES = 3


def frame(trace: Trace) -> RenderableType:
    """Render a study at this moment: the budget, the best, the trends, the account, running and failed trials."""
    history = trace.history
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("study", Text.assemble((trace.name, "bold"), f"  {method_name(history.opened.method)}"))
    for unit, limit in history.ledger.budget.limits().items():
        grid.add_row(unit, spent_bar(unit, min(history.ledger.spent()[unit], limit), limit))
    grid.add_row("trials", Text(f"{len(history.trials)}: {states(history)}"))
    grid.add_row("best", best_text(history, history.best()))
    for label, line in trend_rows(history):
        grid.add_row(label, Text(line))
    for label, line in running_rows(list(history.running.values())):
        grid.add_row(label, Text(line))
    for group in failure_groups(trace)[:_MOST_FAILURES]:
        grid.add_row("failed", Text(f"{len(group.trials)} × {one_line(group.message)}"))
    return Group(grid, Text(""), _account(trace))


def _account(trace: Trace) -> Table:
    rows = accounts(trace)
    shown = [state for state in STATES if any(state in row.spent_on for row in rows)]
    words = [f"on {state_words(state, is_over(trace.history))}" for state in shown]
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for head in ("spent", *words, "in all", "committed", "left"):
        table.add_column(head, justify="left" if head == "spent" else "right")
    for row in sorted(rows, key=lambda row: UNITS.index(row.unit)):
        parts = (*(row.spent_on.get(state, 0.0) for state in shown), row.spent, row.committed)
        left = "no limit" if row.left is None else amount(row.unit, max(row.left, 0.0))
        table.add_row(row.unit, *(amount(row.unit, value) for value in parts), left)
    return table
