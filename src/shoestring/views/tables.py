"""Tables of a study as heads and rows of plain values; the card, the report and the dashboard render them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoestring.core.front import members
from shoestring.views.formatting import amount, cut, number, settings
from shoestring.views.states import STATES, is_over, state_words
from shoestring.views.summaries import Account, accounts, failure_groups, leaders, turning_points
from shoestring.views.trace import Trace


class Table(NamedTuple):
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]


def account_table(trace: Trace) -> Table:
    """Show the exact account of the budget: the amounts spent on trials, by how they ended."""
    rows = accounts(trace)
    kinds = [state for state in STATES if any(state in row.spent_on for row in rows)]
    over = is_over(trace.history)
    spent_on = ["on trials stopped early" if over and kind == "paused" else f"on {kind} trials" for kind in kinds]
    heads = ["unit", *spent_on, "spent", "committed", "left", "budget"]
    return Table(heads, [_account_row(row, kinds) for row in rows])


def _account_row(row: Account, kinds: Sequence[str]) -> list[str]:
    parts = [row.spent_on.get(kind, 0.0) for kind in kinds]
    ends = ["no limit" if value is None else amount(row.unit, value) for value in (row.left, row.limit)]
    return [row.unit, *(amount(row.unit, value) for value in (*parts, row.spent, row.committed)), *ends]


def leader_table(trace: Trace, most: int = 10) -> Table:
    """The best trials; with several objectives the members of the front, all of them up to ``most``."""
    if trace.history.goals.several:
        return _front_table(trace, most)
    rows = []
    for trial in leaders(trace, most):
        assert trial.recommended is not None
        value = number(trace.history.sign * trial.recommended.loss)
        state = state_words(trial.state, is_over(trace.history))
        rows.append((value, trial.recommended.step, trial.index, state, settings(trial.config)))
    return Table(["value", "at step", "trial", "state", "configuration"], rows)


def _front_table(trace: Trace, most: int) -> Table:
    history, rows = trace.history, []
    for member in members(history)[:most]:
        state = state_words(history.trials[member.trial].state, is_over(history))
        values = map(number, member.values.values())
        rows.append((*values, member.step, member.trial, state, settings(member.config)))
    return Table([*history.goals.names, "at step", "trial", "state", "configuration"], rows)


def remark_table(trace: Trace, most: int = 50) -> Table:
    """The notes and attributes of the trials that have any, the last ones."""
    trials = [trial for trial in trace.history.trials if trial.notes or trial.attributes][-most:]
    rows = [(trial.index, cut("; ".join(trial.notes)), cut(settings(trial.attributes))) for trial in trials]
    return Table(["trial", "notes", "attributes"], rows)


def failure_table(trace: Trace) -> Table:
    """The failures by message."""
    rows = []
    for group in failure_groups(trace):
        which = ", ".join(map(str, group.trials[:8])) + (", …" if len(group.trials) > 8 else "")
        rows.append((len(group.trials), cut(group.message), which))
    return Table(["trials", "message", "which"], rows)


def turning_table(trace: Trace) -> Table:
    """List the method's reasons for the grants that led to a new best value."""
    rows = [(f"{100 * p.share:.0f} %", p.trial, p.reason, p.outcome) for p in turning_points(trace)]
    return Table(["budget spent", "trial", "what the method said", "what came of it"], rows)
