"""Pieces of HTML: every text is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from shoestring.plots.learning_curves import curves
from shoestring.plots.progress import history as history_plot
from shoestring.plots.trace import Trace
from shoestring.ui.formatting import STATES, amount, best_line, cut, number, settings, states, with_unit
from shoestring.ui.summaries import Account, accounts, failure_groups, leaders, turning_points

# The report, the card in a notebook and the dashboard share it.
STYLE = """
.shoestring { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1000px; margin: 0 auto; }
.shoestring table { border-collapse: collapse; margin: .5em 0; }
.shoestring th, .shoestring td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #d9d9d9;
  vertical-align: top; overflow-wrap: break-word; max-width: 45em; }
.shoestring th { font-weight: 600; white-space: nowrap; }
.shoestring code, .shoestring pre { font: 13px/1.5 ui-monospace, monospace; background: #f4f4f4; padding: .1em .3em;
  overflow-wrap: anywhere; white-space: pre-wrap; }
.shoestring svg { max-width: 100%; height: auto; display: block; margin: .5em 0; }
.shoestring .meter { display: inline-block; margin: 0 .6em 0 0; }
.shoestring .quiet { color: #666; }
"""


def text(given: object) -> str:
    return escape(str(given))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{text(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def meters(trace: Trace) -> str:
    """A bar for each unit of the budget."""
    spent, limits = trace.history.ledger.spent(), trace.history.ledger.budget.limits()
    return "".join(budget_bar(unit, spent[unit], limit) for unit, limit in limits.items())


def budget_bar(unit: str, spent: float, limit: float) -> str:
    """How much was spent of one unit."""
    share = min(round(100 * spent / limit), 100)
    size = 'viewBox="0 0 100 6" width="192" height="12" preserveAspectRatio="none"'
    bar = f'<svg class="meter" {size}>{_bar(share)}</svg>'
    return f"<p>{bar}{text(amount(unit, spent))} of {text(with_unit(unit, limit))} spent</p>"


def _bar(share: int) -> str:
    return f'<rect width="100" height="6" fill="#d9d9d9"/><rect width="{share}" height="6" fill="#1f4e79"/>'


def account_table(trace: Trace) -> str:
    """The exact account of the budget: what was spent on trials by how they ended."""
    rows = accounts(trace)
    kinds = [state for state in STATES if any(state in row.spent_on for row in rows)]
    heads = ["unit", *(f"on {kind} trials" for kind in kinds), "spent", "committed", "left", "budget"]
    return table(heads, [_account_row(row, kinds) for row in rows])


def _account_row(row: Account, kinds: Sequence[str]) -> list[str]:
    parts = [row.spent_on.get(kind, 0.0) for kind in kinds]
    ends = ["no limit" if value is None else amount(row.unit, value) for value in (row.left, row.limit)]
    return [row.unit, *(amount(row.unit, value) for value in (*parts, row.spent, row.committed)), *ends]


def leader_table(trace: Trace, most: int = 10) -> str:
    rows = []
    for trial in leaders(trace, most):
        assert trial.recommended is not None
        value = number(trace.history.sign * trial.recommended.loss)
        rows.append((value, trial.recommended.step, trial.index, trial.state, settings(trial.config)))
    return table(["value", "at step", "trial", "state", "configuration"], rows)


def failure_table(trace: Trace) -> str:
    rows = []
    for group in failure_groups(trace):
        shown = ", ".join(map(str, group.trials[:8])) + (", …" if len(group.trials) > 8 else "")
        rows.append((len(group.trials), cut(group.message), shown))
    return table(["trials", "message", "which"], rows) if rows else "<p>No trial failed.</p>"


def turning_table(trace: Trace) -> str:
    rows = [(f"{100 * p.share:.0f} %", p.trial, p.reason, p.outcome) for p in turning_points(trace)]
    return table(["budget spent", "trial", "what the method said", "what came of it"], rows)


def card(trace: Trace) -> str:
    """The report card of a study for a notebook: the budget, the best, its curves and the leading trials."""
    history = trace.history
    found = history.best()
    best = text(trace.lack()) if found is None else f"best: <b>{text(best_line(found, history))}</b>"
    picture = history_plot if (history.max_resource or 1) == 1 else curves
    return (
        f'<style>{STYLE}</style><div class="shoestring"><h3>{text(trace.name)}</h3>{meters(trace)}'
        f"<p>{len(history.trials)} trials: {text(states(history.trials))}; {best}</p>"
        f"{picture(trace, backend='svg', width=640)}{leader_table(trace, 5) if found else ''}</div>"
    )
