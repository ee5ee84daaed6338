"""The style of pictures: colours that differ in grey too, sizes that suit narrow and wide pictures, axes and ticks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoestring.plots.picture import Band, Bars, Dash, Dots, Heat, Line, Mark, Panel, Picture, Shape, Words, bound

INK, PALE, PAPER = "#222222", "#d9d9d9", "#ffffff"
# The best trial, a white rim, and a black point.
STRONG = "#000000"

# Categories: light and dark alternate, so that neighbours differ in grey.
CATEGORIES = ("#1f4e79", "#e08e0b", "#2a9d8f", "#b5179e", "#8ecae6", "#7f4f24", "#a7c957", "#5e548e")
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")


@dataclass(frozen=True)
class StateStyle:
    """The style of the trials in one state; bars of failed ones are thin, so that they differ in grey too."""

    color: str
    dash: Dash
    shape: Shape
    thickness: float = 0.7


STATE_STYLES = {
    "finished": StateStyle("#1f4e79", "solid", "circle"),
    "paused": StateStyle("#74b6d8", "solid", "circle"),
    "running": StateStyle("#2a9d8f", "dash", "triangle"),
    "stopped": StateStyle("#e08e0b", "dash", "square"),
    "failed": StateStyle("#d62839", "dot", "cross", 0.35),
    "lost": StateStyle("#6c757d", "dot", "cross", 0.35),
}

# Ranks from the best to the worst: those that matter stand out.
GRADES = ("#1f4e7a", "#23688c", "#2b8499", "#4a9d9b", "#79b296", "#a9c18f", "#d3c98a", "#ecd89a")
# Each colour on a dark background; the colours of a heat map are not changed.
DARK = {
    INK: "#e4e7eb", PALE: "#3a424d", PAPER: "#14181d", STRONG: "#ffffff",
    "#1f4e79": "#6cb0f0", "#e08e0b": "#f0a93a", "#2a9d8f": "#3fc4b4", "#b5179e": "#e86fd5",
    "#8ecae6": "#8ecae6", "#7f4f24": "#c98b54", "#a7c957": "#a7c957", "#5e548e": "#a89ce0",
    "#74b6d8": "#4d86b3", "#d62839": "#ff7482", "#6c757d": "#98a2ad",
    "#1f4e7a": "#9be1ff", "#23688c": "#79cdec", "#2b8499": "#5bb7d2", "#4a9d9b": "#4ba0ae",
    "#79b296": "#4b888a", "#a9c18f": "#526f69", "#d3c98a": "#5c5f4d", "#ecd89a": "#66553a",
}  # fmt: skip
_COLOR = re.compile("#[0-9a-f]{6}")


def darken(document: str) -> str:
    """A document with the colours for a dark background.

    >>> darken('<text fill="#222222">')
    '<text fill="#e4e7eb">'
    """
    return _COLOR.sub(lambda found: DARK.get(found[0], found[0]), document)


# From dark to light at an even pace, so that it reads the same in grey.
_SHADES = np.array([(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], dtype=float)


def grade(share: float) -> str:
    """The colour of a rank: 0 is the best and stands out, 1 is the worst and is faint.

    >>> grade(0.0), grade(1.0)
    ('#1f4e7a', '#ecd89a')
    """
    return GRADES[round(min(max(share, 0.0), 1.0) * (len(GRADES) - 1))]


def category(index: int) -> str:
    return CATEGORIES[index % len(CATEGORIES)]


def shade(share: float) -> str:
    """The colour of a share: 0 is dark, 1 is light.

    >>> shade(0.0), shade(1.0)
    ('#440154', '#fde725')
    """
    at = min(max(share, 0.0), 1.0) * (len(_SHADES) - 1)
    low = min(int(at), len(_SHADES) - 2)
    rgb = _SHADES[low] + (at - low) * (_SHADES[low + 1] - _SHADES[low])
    return "#" + "".join(f"{round(part):02x}" for part in rgb)


SHADES = tuple(shade(i / 8) for i in range(9))


@dataclass(frozen=True)
class Layout:
    """Sizes in pixels of a picture of some width."""

    width: int
    columns: int
    rows: int
    heights: tuple[int, ...]
    font: int

    @property
    def height(self) -> int:
        return sum(self.heights)

    @property
    def panel_width(self) -> float:
        return self.width / self.columns


def layout(picture: Picture, width: int) -> Layout:
    """Panels side by side where there is room for them, each row as high as its panels need."""
    count = max(len(picture.panels), 1)
    font = 10 if width < 560 else 12 if width < 1200 else 14
    columns = min(count, max(1, width // 310), 4)
    if any(panel.table for panel in picture.panels):
        columns = 1
    rows = -(-count // columns)
    columns = -(-count // rows)  # four panels are two rows of two, not three and one
    usual = int(min(max(0.56 * width / columns, 230), 420))
    heights = [
        max(
            (_height(panel, usual, font) for panel in picture.panels[row * columns : (row + 1) * columns]),
            default=usual,
        )
        for row in range(rows)
    ]
    return Layout(width, columns, rows, tuple(heights), font)


def _height(panel: Panel, usual: int, font: int) -> int:
    if panel.table:
        return int((len(panel.table.rows) + 1) * 1.7 * font + 3 * font)
    extra = max((len(label) for _, label in panel.x_ticks or ()), default=0)
    room = int(0.5 * font * extra) if must_turn([label for _, label in panel.x_ticks or ()], 300, font) else 0
    return room + (int((1.7 * max(panel.rows, 3) + 7) * font) if panel.rows else usual)


def text_width(text: str) -> float:
    """About how wide a text is, in units of the font size; a little more than in most fonts.

    >>> text_width("mm") > text_width("ill")
    True
    """
    wide, narrow = sum(c in "mwMW@%" for c in text), sum(c in "ijltfrI.,:;'| ()" for c in text)
    return 0.64 * len(text) + 0.34 * wide - 0.28 * narrow


def must_turn(labels: Sequence[str], width: float, font: int) -> bool:
    """Return whether the labels of an axis are too long to be written side by side."""
    return (max(map(len, labels), default=0) + 1) * len(labels) * 0.56 * font > width


def shorten(text: str, most: int) -> str:
    """Cut a text to at most this many characters.

    >>> shorten("a very long label", 10)
    'a very lo…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Scale:
    """The scale of an axis of values: logarithmic or not, and its range if some values are left out."""

    log: bool
    range: tuple[float, float] | None
    outside: int = 0

    @property
    def remark(self) -> str:
        return f", {self.outside} beyond the axis" if self.outside else ""


def scale(values: Sequence[float], log: bool | None = None) -> Scale:
    """A logarithmic axis for positive values that span orders of magnitude; far outliers are left out elsewhere.

    ``log`` is what was asked for, if anything; only positive values can have a logarithmic axis.
    """
    finite = np.asarray([bound(value) for value in values if math.isfinite(value)], dtype=float)
    if not len(finite):
        return Scale(False, None)
    if finite.min() > 0 and (finite.max() > 50 * finite.min() if log is None else log):
        return Scale(True, None)
    low, middle, high = np.quantile(finite, [0.02, 0.5, 0.98])
    reach = 3 * (high - low)
    bottom, top = max(finite.min(), middle - reach), min(finite.max(), middle + reach)
    outside = int(((finite < bottom) | (finite > top)).sum())
    if not outside or high == low:
        return Scale(False, None)
    margin = 0.04 * (top - bottom)
    return Scale(False, (float(bottom - margin), float(top + margin)), outside)


def tick_places(low: float, high: float, log: bool, most: int) -> list[float]:
    """At most about ``most`` round numbers between two ends.

    >>> tick_places(0, 10, False, 5), tick_places(0.001, 1, True, 5), tick_places(0.04, 0.7, True, 5)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [0.001, 0.01, 0.1, 1.0], [0.05, 0.1, 0.2, 0.5])
    """
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        if last - first >= 2:
            every = -(-(last - first + 1) // most)
            return [10.0**power for power in range(first, last + 1, every)]
        between = [float(f"{part}e{power}") for power in range(first - 1, last + 1) for part in (1, 2, 5)]
        found = [place for place in between if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
        if len(found) > 1:
            return found
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]


def limits(panel: Panel, axis: str) -> tuple[float, float]:
    """Compute the range of an axis: as given, else the range of the marks with a margin."""
    given: tuple[float, float] | None = getattr(panel, f"{axis}_range")
    if given is not None:
        return given
    log = getattr(panel, f"{axis}_log")
    seen = (bound(v) for mark in panel.marks for v in _values(mark, axis) if math.isfinite(v))
    values = [v for v in seen if v > 0 or not log]
    if not values:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if log:
        ratio = (high / low) ** 0.05 if high > low else 1.5
        return low / ratio, high * ratio
    margin = 0.04 * (high - low) or abs(high) / 10 or 0.5
    return low - margin, high + margin


def _values(mark: Mark, axis: str) -> Iterator[float]:
    match mark:
        case Line() | Dots() | Words():
            yield from mark.x if axis == "x" else mark.y
        case Band():
            yield from mark.x if axis == "x" else [*mark.low, *mark.high]
        case Bars():
            if axis == "x":
                yield from (*mark.start, *mark.end)
            else:
                yield from (at + side for at in mark.y for side in (-0.5, 0.5))
        case Heat():
            yield from mark.x if axis == "x" else mark.y
