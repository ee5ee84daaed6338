"""The contents of a plot as plain values: panels of marks. A renderer turns it into SVG, matplotlib or plotly.

A plot never calls a drawing library, so that its content can be tested and every backend draws the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Numbers = Sequence[float]
# Values beyond these are drawn at these, and smaller ones as 0.
_LARGEST, _SMALLEST = 1e150, 1e-150
Dash = Literal["solid", "dash", "dot"]
Shape = Literal["circle", "cross", "square", "triangle"]


@dataclass(frozen=True)
class Line:
    """Points joined by a line. NaN leaves a gap, so that one mark can hold many curves; ``steps`` holds each value.

    ``keys`` has the trial of each point, for pages where a point can be clicked.
    """

    x: Numbers
    y: Numbers
    color: str
    label: str = ""
    dash: Dash = "solid"
    width: float = 1.5
    opacity: float = 1.0
    steps: bool = False
    keys: Sequence[int] = ()


@dataclass(frozen=True)
class Dots:
    """Single points; ``keys`` has the trial of each."""

    x: Numbers
    y: Numbers
    color: str | Sequence[str]
    label: str = ""
    shape: Shape = "circle"
    size: float = 4.0
    opacity: float = 1.0
    keys: Sequence[int] = ()


@dataclass(frozen=True)
class Band:
    """The area between two curves."""

    x: Numbers
    low: Numbers
    high: Numbers
    color: str
    label: str = ""
    opacity: float = 0.2


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from ``start`` to ``end`` at the heights ``y``; ``errors`` are half-widths around the ends.

    ``keys`` has the trial of each.
    """

    y: Numbers
    start: Numbers
    end: Numbers
    color: str
    label: str = ""
    errors: Numbers | None = None
    thickness: float = 0.7
    keys: Sequence[int] = ()


@dataclass(frozen=True)
class Heat:
    """A grid of values: rows from the bottom to the top of ``y``, columns from left to right of ``x``; NaN is empty."""

    values: Sequence[Numbers]
    x: tuple[float, float]
    y: tuple[float, float]
    label: str


@dataclass(frozen=True)
class Words:
    """Short texts to the right of points, readable on top of other marks."""

    x: Numbers
    y: Numbers
    texts: Sequence[str]


@dataclass(frozen=True)
class Cells:
    """A table instead of axes."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


Mark = Line | Dots | Band | Bars | Heat | Words | Cells
Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes. ``rows`` is how many bars or lines of text have to fit into its height; 0 if it is free."""

    marks: Sequence[Mark]
    title: str = ""
    x: str = ""
    y: str = ""
    x_log: bool = False
    y_log: bool = False
    x_ticks: Ticks | None = None
    y_ticks: Ticks | None = None
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    rows: int = 0

    @property
    def table(self) -> Cells | None:
        return next((mark for mark in self.marks if isinstance(mark, Cells)), None)


@dataclass(frozen=True)
class Picture:
    """A title, and panels; a picture without panels shows its ``note`` instead."""

    title: str
    panels: Sequence[Panel] = ()
    note: str = ""

    def legend(self) -> list[Mark]:
        """The first mark with each label, in order."""
        found: dict[str, Mark] = {}
        for mark in (mark for panel in self.panels for mark in panel.marks):
            label = getattr(mark, "label", "")
            if label and not isinstance(mark, Heat):
                found.setdefault(label, mark)
        return list(found.values())


def bound(value: float) -> float:
    """A value that can be drawn: differences, ratios and squares of such values are numbers."""
    if not -_LARGEST <= value <= _LARGEST:
        return value if value != value else _LARGEST if value > 0 else -_LARGEST
    return value if value == 0 or abs(value) >= _SMALLEST else 0.0


def drawable(picture: Picture) -> Picture:
    """The picture with bounded values in all its marks."""
    panels = [replace(panel, marks=[_drawable(mark) for mark in panel.marks]) for panel in picture.panels]
    return replace(picture, panels=panels)


def _drawable(mark: Mark) -> Mark:
    if isinstance(mark, Cells):
        return mark
    if isinstance(mark, Heat):
        return replace(mark, values=[[bound(value) for value in row] for row in mark.values])
    names = ("x", "y", "low", "high", "start", "end", "errors")
    given = {name: values for name in names if (values := getattr(mark, name, None)) is not None}
    changed: dict[str, Any] = {name: [bound(value) for value in values] for name, values in given.items()}
    return replace(mark, **changed)


def bar_range(count: int) -> tuple[float, float]:
    """Compute the heights of this many bars, with room for at least three: one alone is not as thick as its panel."""
    room = 0.5 + max(3 - count, 0) / 2
    return -room, count - 1 + room


def thin(count: int, most: int = 2000) -> slice:
    """Choose the marks to draw: all, or evenly chosen ones of very many."""
    return slice(None, None, -(-count // most) or 1)


def join(curves: Iterable[tuple[int, Numbers, Numbers]]) -> dict[str, Any]:
    """Many curves as the points and keys of one line, with gaps between them; each curve belongs to a trial."""
    x: list[float] = []
    y: list[float] = []
    keys: list[int] = []
    for trial, xs, ys in curves:
        x += [*map(float, xs), float("nan")]
        y += [*map(float, ys), float("nan")]
        keys += [trial] * (len(xs) + 1)
    return {"x": x, "y": y, "keys": keys}
