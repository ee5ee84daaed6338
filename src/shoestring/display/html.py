"""Pieces of HTML for notebooks, which the pages share: their style, and the bars of the budget."""

from __future__ import annotations

from html import escape

from shoestring.core.history import History
from shoestring.views.formatting import amount, with_unit

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
.shoestring .quiet { color: #5b6570; }
"""


def text(given: object) -> str:
    return escape(str(given))


def meters(history: History) -> str:
    """A bar for each unit of the budget."""
    spent, limits = history.ledger.spent(), history.ledger.budget.limits()
    return "".join(budget_bar(unit, spent[unit], limit) for unit, limit in limits.items())


def budget_bar(unit: str, spent: float, limit: float) -> str:
    """Return how much was spent of one unit."""
    share = min(round(100 * spent / limit), 100)
    size = 'viewBox="0 0 100 6" width="192" height="12" preserveAspectRatio="none"'
    bar = f'<svg class="meter" {size}>{_bar(share)}</svg>'
    return f"<p>{bar}{text(amount(unit, spent))} of {text(with_unit(unit, limit))} spent</p>"


def _bar(share: int) -> str:
    return f'<rect width="100" height="6" fill="#d9d9d9"/><rect width="{share}" height="6" fill="#1f4e79"/>'
