"""Pictures as SVG, without any library: for reports, the dashboard and notebooks. All texts are escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from shoestring.plots.picture import Band, Bars, Cells, Dots, Heat, Line, Mark, Panel, Picture, Words
from shoestring.plots.style import (
    INK,
    PALE,
    PAPER,
    SHADES,
    Layout,
    layout,
    limits,
    must_turn,
    shade,
    shorten,
    text_width,
    tick_places,
)
from shoestring.views.formatting import number

_DASHES = {"solid": "", "dash": ' stroke-dasharray="6 3"', "dot": ' stroke-dasharray="1.5 2.5"'}
# The mean width of a character, as a share of the font size.
_CHARACTER = 0.56


def svg(picture: Picture, width: int = 800) -> str:
    """The picture as the text of an SVG document."""
    plan = layout(picture, width)
    legend = list(_legend(picture, plan))
    top = 2.6 * plan.font
    rows = 1 + max((row for row, _ in legend), default=-1)
    height = top + plan.height + 1.5 * plan.font * rows + 0.5 * plan.font
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="{plan.font}" role="img">',
        f"<title>{escape(picture.title)}</title>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        _text(10, 1.6 * plan.font, shorten(picture.title, int(width / plan.font / _CHARACTER / 1.25)), size=1.2),
    ]
    if not picture.panels:
        parts += _paragraph(picture.note, width, top + plan.height / 3, plan.font)
    for place, panel in enumerate(picture.panels):
        row, column = divmod(place, plan.columns)
        box = _Box(
            column * plan.panel_width, top + sum(plan.heights[:row]), plan.panel_width, plan.heights[row], plan.font
        )
        parts += _table(panel.table, panel, box) if panel.table else _Axes(panel, box).draw()
    for row, content in legend:
        parts.append(
            f'<g transform="translate(0 {top + plan.height + (1.5 * row + 0.7) * plan.font:.1f})">{content}</g>'
        )
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    width: float
    height: float
    font: int


def _text(x: float, y: float, content: str, *, anchor: str = "start", size: float = 0, turn: float = 0) -> str:
    attributes = f' text-anchor="{anchor}"' if anchor != "start" else ""
    attributes += f' font-size="{size}em" font-weight="bold"' if size else ""
    attributes += f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}"{attributes}>{escape(content)}</text>'


def _on_top(x: float, y: float, content: str) -> str:
    """A text with a rim, readable on top of lines."""
    rim = f'stroke="{PAPER}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" {rim}>{escape(content)}</text>'


def _paragraph(text: str, width: int, y: float, font: int) -> Iterator[str]:
    """Words broken into centred lines."""
    most, line = int(0.85 * width / font / _CHARACTER), ""
    for word in [*(shorten(word, most) for word in text.split()), ""]:
        if line and (not word or len(line) + len(word) >= most):
            yield _text(width / 2, y, line, anchor="middle")
            y, line = y + 1.5 * font, ""
        line = f"{line} {word}".strip()


def _legend(picture: Picture, plan: Layout) -> Iterator[tuple[int, str]]:
    """Row and content of every entry."""
    x, row = 10.0, 0
    for mark in picture.legend():
        label = shorten(mark.label, int(plan.width / plan.font / _CHARACTER) - 8)  # type: ignore[union-attr]
        wide = (len(label) * _CHARACTER + 4) * plan.font
        if x + wide > plan.width and x > 10:
            x, row = 10.0, row + 1
        yield row, _sample(mark, x, plan.font) + _text(x + 2.4 * plan.font, 0.35 * plan.font, label)
        x += wide


def _sample(mark: Mark, x: float, font: int) -> str:
    match mark:
        case Line():
            return _path([(x, 0.0), (x + 2 * font, 0.0)], mark)
        case Dots():
            return _dot(x + font, 0.0, mark, mark.color if isinstance(mark.color, str) else mark.color[0], font)
        case Band() | Bars():
            opacity = mark.opacity if isinstance(mark, Band) else 1
            return _rectangle(x, -0.4 * font, 2 * font, 0.8 * font, mark.color, opacity)
    return ""


def _rectangle(x: float, y: float, width: float, height: float, color: str, opacity: float = 1) -> str:
    faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.4):.1f}" height="{height:.1f}" fill="{color}"{faint}/>'


def _path(points: Sequence[tuple[float, float]], line: Line) -> str:
    """A line with gaps where a point is not finite."""
    words, pen = [], "M"
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            pen = "M"
            continue
        words.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    faint = f' stroke-opacity="{line.opacity:g}"' if line.opacity < 1 else ""
    return (
        f'<path d="{"".join(words)}" fill="none" stroke="{line.color}" stroke-width="{line.width:g}"'
        f"{_DASHES[line.dash]}{faint}/>"
    )


def _dot(x: float, y: float, dots: Dots, color: str, font: int) -> str:
    r = dots.size / 2 * font / 11
    faint = f' opacity="{dots.opacity:g}"' if dots.opacity < 1 else ""
    match dots.shape:
        case "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.3g}" fill="{color}"{faint}/>'
        case "cross":
            d = f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
            return f'<path d="{d}" stroke="{color}" stroke-width="1.5"{faint}/>'
        case "square":
            side = f'width="{2 * r:.3g}" height="{2 * r:.3g}"'
            return f'<rect x="{x - r:.1f}" y="{y - r:.1f}" {side} fill="{color}"{faint}/>'
    d = f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}L{x - r:.1f} {y + r:.1f}Z"
    return f'<path d="{d}" fill="{color}"{faint}/>'


def _discs(points: Sequence[tuple[float, float]], dots: Dots, font: int) -> str:
    """Circles of one colour as the round ends of lines without a length: a fifth of the size."""
    places = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points if math.isfinite(x) and math.isfinite(y))
    faint = f' opacity="{dots.opacity:g}"' if dots.opacity < 1 else ""
    wide = dots.size * font / 11
    return f'<path d="{places}" stroke="{dots.color}" stroke-width="{wide:.3g}" stroke-linecap="round"{faint}/>'


def _table(cells: Cells, panel: Panel, box: _Box) -> Iterator[str]:
    columns = list(zip(cells.heads, *cells.rows, strict=True))
    widths = [max(map(len, column)) + 2 for column in columns]
    room = (box.width - 20) / box.font / _CHARACTER
    fit = min(1.0, room / sum(widths))
    y = box.top + 1.2 * box.font
    yield _text(box.left + 10, y, panel.title)
    for row in (cells.heads, *cells.rows):
        x, y = box.left + 10, y + 1.7 * box.font
        for cell, wide in zip(row, widths, strict=True):
            yield _text(x, y, shorten(cell, max(int(wide * fit) - 1, 2)))
            x += wide * fit * box.font * _CHARACTER
        if row is cells.heads:
            yield f'<path d="M{box.left + 10:.1f} {y + 4:.1f}H{box.left + box.width - 10:.1f}" stroke="{PALE}"/>'


class _Axes:
    """One panel: its scales, its ticks and its marks."""

    def __init__(self, panel: Panel, box: _Box) -> None:
        self.panel, self.font = panel, box.font
        low, high = limits(panel, "x")
        bottom, top = limits(panel, "y")
        heat = any(isinstance(mark, Heat) for mark in panel.marks)
        self.y_ticks = panel.y_ticks or [
            (at, number(float(at))) for at in tick_places(bottom, top, panel.y_log, max(5, int(box.height / 60)))
        ]
        longest = max((text_width(shorten(label, 28)) for _, label in self.y_ticks), default=0)
        self.left = box.left + (longest + 0.8 + 1.4 * bool(panel.y)) * box.font
        self.right = box.left + box.width - (6.5 * box.font if heat else 1.4 * box.font)
        if panel.x_ticks and must_turn([label for _, label in panel.x_ticks], self.right - self.left, box.font):
            self.left = max(self.left, box.left + 0.75 * _CHARACTER * box.font * len(shorten(panel.x_ticks[0][1], 28)))
        room = max(self.right - self.left, 10)
        self.x_ticks = panel.x_ticks or [
            (at, number(float(at))) for at in tick_places(low, high, panel.x_log, max(3, int(room / 70)))
        ]
        labels = [shorten(label, 28) for _, label in self.x_ticks]
        self.turned = must_turn(labels, room, box.font)
        below = (max(map(len, labels), default=0) * _CHARACTER * 0.72 + 0.8) if self.turned else 1.4
        self.top = box.top + (1.7 if panel.title else 0.6) * box.font
        self.bottom = box.top + box.height - (below + 0.8 + 1.3 * bool(panel.x)) * box.font
        self.box = box
        self.x = _scale(low, high, panel.x_log, self.left, self.right)
        self.y = _scale(bottom, top, panel.y_log, self.bottom, self.top)

    def draw(self) -> Iterator[str]:
        frame = (self.left, self.top, self.right - self.left, self.bottom - self.top)
        x, y, width, height = (f"{part:.1f}" for part in frame)
        yield from self._ticks()
        # A nested document clips what it shows, without an id that could be used twice on a page.
        place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        yield f'<svg {place} viewBox="{x} {y} {width} {height}">'
        for mark in self.panel.marks:
            yield from self._mark(mark)
        yield "</svg>"
        yield f'<path d="M{x} {y}V{self.bottom:.1f}H{self.right:.1f}" fill="none" stroke="{INK}"/>'
        for mark in self.panel.marks:
            if isinstance(mark, Heat):
                yield from self._key(mark)

    def _ticks(self) -> Iterator[str]:
        font, middle = self.font, (self.left + self.right) / 2
        most = max(int((self.right - self.left) / font / _CHARACTER), 4)
        yield _text(self.left, self.top - 0.6 * font, shorten(self.panel.title, most + 6))
        for at, label in self.x_ticks:
            x = self.x(at)
            if self.left - 1 <= x <= self.right + 1:
                yield f'<path d="M{x:.1f} {self.bottom:.1f}V{self.top:.1f}" stroke="{PALE}" stroke-width="0.5"/>'
                turn, anchor = (-45, "end") if self.turned else (0, "middle")
                shown = shorten(label, 28)
                half = 0 if self.turned else text_width(shown) * font / 2  # a long label stays inside of the panel
                x = min(max(x, self.box.left + half), self.box.left + self.box.width - half)
                yield _text(x, self.bottom + 1.4 * font, shown, anchor=anchor, turn=turn)
        for at, label in self.y_ticks:
            y = self.y(at)
            if self.top - 1 <= y <= self.bottom + 1:
                yield f'<path d="M{self.left:.1f} {y:.1f}H{self.right:.1f}" stroke="{PALE}" stroke-width="0.5"/>'
                yield _text(self.left - 0.4 * font, y + 0.35 * font, shorten(label, 28), anchor="end")
        yield _text(middle, self.box.top + self.box.height - 0.6 * font, shorten(self.panel.x, most), anchor="middle")
        if self.panel.y:
            x, y = self.box.left + 1.1 * font, (self.top + self.bottom) / 2
            tall = max(int((self.bottom - self.top) / font / _CHARACTER), 4)
            yield _text(x, y, shorten(self.panel.y, tall), anchor="middle", turn=-90)

    def _mark(self, mark: Mark) -> Iterator[str]:
        match mark:
            case Line():
                points = [(self.x(x), self.y(y)) for x, y in zip(mark.x, mark.y, strict=True)]
                yield _path(_in_steps(points) if mark.steps else points, mark)
            case Dots() if isinstance(mark.color, str) and mark.shape == "circle":
                yield _discs([(self.x(x), self.y(y)) for x, y in zip(mark.x, mark.y, strict=True)], mark, self.font)
            case Dots():
                colors = [mark.color] * len(mark.x) if isinstance(mark.color, str) else mark.color
                for x, y, color in zip(mark.x, mark.y, colors, strict=True):
                    if math.isfinite(self.x(x)) and math.isfinite(self.y(y)):
                        yield _dot(self.x(x), self.y(y), mark, color, self.font)
            case Band():
                around = [*zip(mark.x, mark.low, strict=True), *reversed([*zip(mark.x, mark.high, strict=True)])]
                corners = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in around)
                yield f'<polygon points="{corners}" fill="{mark.color}" fill-opacity="{mark.opacity:g}"/>'
            case Bars():
                yield from self._bars(mark)
            case Heat():
                yield from self._heat(mark)
            case Words():
                for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
                    yield _on_top(self.x(x) + 0.4 * self.font, self.y(y) + 0.35 * self.font, text)

    def _bars(self, bars: Bars) -> Iterator[str]:
        tall = abs(self.y(1) - self.y(0)) * bars.thickness
        for at, start, end in zip(bars.y, bars.start, bars.end, strict=True):
            yield _rectangle(self.x(start), self.y(at) - tall / 2, self.x(end) - self.x(start), tall, bars.color)
        for at, end, error in zip(bars.y, bars.end, bars.errors or (), strict=False):
            y = self.y(at)
            yield f'<path d="M{self.x(end - error):.1f} {y:.1f}H{self.x(end + error):.1f}" stroke="{INK}"/>'

    def _heat(self, heat: Heat) -> Iterator[str]:
        rows, columns = len(heat.values), len(heat.values[0])
        low, high = _extremes(heat)
        wide, tall = (self.x(heat.x[1]) - self.x(heat.x[0])) / columns, (self.y(heat.y[0]) - self.y(heat.y[1])) / rows
        yield '<g shape-rendering="crispEdges">'
        for i, row in enumerate(heat.values):
            for j, value in enumerate(row):
                if math.isfinite(value):
                    x, y = self.x(heat.x[0]) + j * wide, self.y(heat.y[0]) - (i + 1) * tall
                    yield _rectangle(x, y, wide + 0.3, tall + 0.3, shade((value - low) / (high - low)))
        yield "</g>"

    def _key(self, heat: Heat) -> Iterator[str]:
        """The colours of a heat map and their values."""
        low, high = _extremes(heat)
        x, tall = self.right + self.font, (self.bottom - self.top) / len(SHADES)
        for i, color in enumerate(SHADES):
            yield _rectangle(x, self.bottom - (i + 1) * tall, self.font, tall + 0.3, color)
        for value, y in ((low, self.bottom), (high, self.top + 0.8 * self.font)):
            yield _text(x + 1.3 * self.font, y, shorten(number(value), 7))
        label, y = shorten(heat.label, int((self.bottom - self.top) / self.font / _CHARACTER)), self.top + self.bottom
        yield _text(x + 2.4 * self.font, y / 2, label, anchor="middle", turn=-90)


def _extremes(heat: Heat) -> tuple[float, float]:
    finite = [value for row in heat.values for value in row if math.isfinite(value)] or [0.0]
    return min(finite), max(finite) if max(finite) > min(finite) else min(finite) + 1


def _in_steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for x, y in points:
        if found and math.isfinite(x) and math.isfinite(found[-1][1]):
            found.append((x, found[-1][1]))
        found.append((x, y))
    return found


def _scale(low: float, high: float, log: bool, first: float, last: float) -> Callable[[float], float]:
    """From values to pixels; NaN for a value that a logarithmic axis cannot show."""
    if log:
        base, span = math.log(low), math.log(high) - math.log(low)
        return lambda v: first + (math.log(v) - base) / span * (last - first) if v > 0 else math.nan
    span = (high - low) or 1.0
    return lambda v: first + (v - low) / span * (last - first)
