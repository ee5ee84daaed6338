"""The report card of a study, which notebooks show."""

from __future__ import annotations

from typing import Any

from shoestring.display.html import STYLE, meters, text
from shoestring.plots.fronts import front
from shoestring.plots.learning_curves import curves
from shoestring.plots.spending import history as history_plot
from shoestring.views.formatting import best_line
from shoestring.views.states import states
from shoestring.views.tables import Table, leader_table
from shoestring.views.trace import Source, trace_of


def card(study: Source) -> str:
    """The card as HTML: the budget, the best, its curves or the front, and the leading trials."""
    trace = trace_of(study)
    history = trace.history
    found = trace.best()
    best = text(trace.why_empty()) if found is None else f"best: <b>{text(best_line(found, history))}</b>"
    one_objective = history_plot if (history.max_resource or 1) == 1 else curves
    picture: Any = front if history.goals.several else one_objective
    return (
        f'<style>{STYLE}</style><div class="shoestring"><h3>{text(trace.name)}</h3>{meters(history)}'
        f"<p>{len(history.trials)} trials: {text(states(history))}; {best}</p>"
        f"{picture(trace, backend='svg', width=640)}{_table(leader_table(trace, 5)) if found else ''}</div>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{text(cell)}</th>" for cell in table.heads)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
