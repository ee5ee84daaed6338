"""The templates of the pages: every value is escaped when it is put into one, unless it is ``Markup`` already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shoestring._text import printable
from shoestring.views.formatting import duration, moment, number
from shoestring.web.charts import FULL, NARROW, WIDE
from shoestring.web.links import at_width, quote_path, url

# Below which width of the window, in pixels, the narrow pictures are shown.
BREAKPOINT = 560


def _printable(value: object) -> object:
    """Control characters and those that turn the writing direction are escaped, but for line ends."""
    if isinstance(value, Path):
        value = str(value)
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def spark(values: Sequence[float]) -> str:
    """The points of a small line of values, in a box of 100 by 24."""
    low, high = min(values), max(values)
    span, last = (high - low) or 1.0, max(len(values) - 1, 1)
    return " ".join(f"{100 * i / last:.1f},{22 - 20 * (v - low) / span:.1f}" for i, v in enumerate(values))


_environment = Environment(
    loader=PackageLoader("shoestring.web"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_printable,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters["path_quoted"] = quote_path
_environment.globals |= {
    "moment": moment,
    "duration": duration,
    "number": number,
    "spark": spark,
    "url": url,
    "at_width": at_width,
    "narrow": NARROW,
    "wide": WIDE,
    "full": FULL,
    "breakpoint": BREAKPOINT,
    "media": f"(max-width: {BREAKPOINT}px)",
}


def render(template: str, **values: Any) -> str:
    """A template filled with values."""
    return _environment.get_template(template).render(values)
