"""The templates of the pages: every value is escaped when it is put into one, unless it is ``Markup`` already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shoestring._text import printable
from shoestring.web.links import at_width, quote_path, url

# The widths of pictures in pixels, and below which width of the window the narrow ones are shown.
NARROW, WIDE, BREAKPOINT = 360, 640, 560


def _printable(value: object) -> object:
    """Control characters and those that turn the writing direction are escaped, but for line ends."""
    if isinstance(value, Path):
        value = str(value)
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
    "url": url,
    "at_width": at_width,
    "narrow": NARROW,
    "wide": WIDE,
    "breakpoint": BREAKPOINT,
    "media": f"(max-width: {BREAKPOINT}px)",
}


def render(template: str, **values: Any) -> str:
    """A template filled with values."""
    return _environment.get_template(template).render(values)
