"""Pictures as matplotlib figures."""

from __future__ import annotations

import io
import math
from typing import Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from shoestring.plots.picture import Band, Bars, Cells, Dots, Heat, Line, Mark, Panel, Picture, Words
from shoestring.plots.style import INK, PALE, PAPER, SHADES, Layout, layout, must_turn, shorten

_DPI = 100
_SHAPES = {"circle": "o", "cross": "x", "square": "s", "triangle": "^"}
_DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5))}


class NotebookFigure(Figure):
    """Make a figure that notebooks show even where pyplot was not imported."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def figure(picture: Picture, width: int = 800) -> Figure:
    """The picture as a figure; ``width`` is in pixels at 100 dots an inch."""
    plan = layout(picture, width)
    legend = picture.legend()
    height = plan.height + (3 + 1.6 * math.ceil(len(legend) / _legend_columns(legend, plan))) * plan.font
    drawn = NotebookFigure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, layout="constrained")
    points = plan.font * 72 / _DPI
    most = int(width / plan.font / 0.78)
    drawn.suptitle(shorten(picture.title, most), fontsize=1.2 * points, x=0.01, ha="left", weight="bold", color=INK)
    if not picture.panels:
        drawn.text(0.5, 0.5, picture.note, ha="center", va="center", wrap=True, fontsize=points, color=INK)
        return drawn
    for axes, panel in zip(_places(drawn, picture, plan), picture.panels, strict=True):
        _draw_panel(axes, panel, plan, points)
    if legend:
        samples = [_sample(mark) for mark in legend]
        drawn.legend(
            handles=samples,
            loc="outside lower left",
            ncols=_legend_columns(legend, plan),
            fontsize=points,
            frameon=False,
        )
    return drawn


def _places(drawn: Figure, picture: Picture, plan: Layout) -> list[Any]:
    """The axes of the panels. A table gets a part of the figure to itself, so that its margins are its own."""
    if any(panel.table for panel in picture.panels):
        parts = drawn.subfigures(plan.rows, 1, height_ratios=plan.heights, squeeze=False)
        return [part.add_subplot() for part in parts[:, 0]]
    grid = drawn.add_gridspec(plan.rows, plan.columns, height_ratios=plan.heights)
    return [drawn.add_subplot(grid[divmod(place, plan.columns)]) for place in range(len(picture.panels))]


def _legend_columns(legend: list[Mark], plan: Layout) -> int:
    longest = max((len(mark.label) for mark in legend), default=0)  # type: ignore[union-attr]
    return max(1, min(len(legend), int(plan.width / ((0.6 * longest + 5) * plan.font))))


def _sample(mark: Mark) -> Any:
    match mark:
        case Line():
            return Line2D([], [], color=mark.color, linestyle=_DASHES[mark.dash], linewidth=1.5, label=mark.label)
        case Dots():
            color = mark.color if isinstance(mark.color, str) else mark.color[0]
            shape = _SHAPES[mark.shape]
            return Line2D([], [], color=color, marker=shape, linestyle="none", markersize=5, label=mark.label)
    opacity = mark.opacity if isinstance(mark, Band) else 1
    return Patch(color=mark.color, alpha=opacity, label=mark.label)  # type: ignore[union-attr]


def _draw_panel(axes: Any, panel: Panel, plan: Layout, points: float) -> None:
    wide = int(plan.panel_width / plan.font / 0.6)
    axes.set_title(shorten(panel.title, wide), fontsize=points, loc="left", color=INK)
    if panel.table:
        _draw_table(axes, panel.table, points, wide)
        return
    axes.grid(color=PALE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for axis, log in (("x", panel.x_log), ("y", panel.y_log)):
        if log:
            getattr(axes, f"set_{axis}scale")("log")
    for mark in panel.marks:
        _draw(axes, mark, points)
    axes.set_xlabel(shorten(panel.x, wide - 8), fontsize=points)
    axes.set_ylabel(shorten(panel.y, 40), fontsize=points)
    axes.tick_params(labelsize=points)
    _limit(axes, panel)
    for axis, log in ((axes.xaxis, panel.x_log), (axes.yaxis, panel.y_log)):
        if log:
            _number_log(axis)
    _label(axes, panel, plan, points)


def _limit(axes: Any, panel: Panel) -> None:
    if panel.x_range:
        axes.set_xlim(*panel.x_range)
    if panel.y_range:
        axes.set_ylim(*panel.y_range)


def _number_log(axis: Any) -> None:
    """Plain numbers, and more of them where the axis spans less than a decade or two."""
    low, high = axis.get_view_interval()
    parts = (1.0,) if high > 30 * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=parts))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _label(axes: Any, panel: Panel, plan: Layout, points: float) -> None:
    if panel.x_ticks is not None:
        labels = [shorten(label, 28) for _, label in panel.x_ticks]
        slanted = must_turn(labels, 0.8 * plan.panel_width, plan.font)
        turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        axes.set_xticks([at for at, _ in panel.x_ticks], labels, fontsize=points, **turn)
    elif not panel.x_log:
        axes.xaxis.set_major_locator(MaxNLocator(max(2, int(plan.panel_width / 90))))
    if panel.y_ticks is not None:
        axes.set_yticks([at for at, _ in panel.y_ticks], [shorten(label, 28) for _, label in panel.y_ticks])


def _draw(axes: Any, mark: Mark, points: float) -> None:
    match mark:
        case Line():
            style = {
                "color": mark.color,
                "linestyle": _DASHES[mark.dash],
                "linewidth": mark.width,
                "alpha": mark.opacity,
            }
            axes.plot(mark.x, mark.y, drawstyle="steps-post" if mark.steps else "default", **style)
        case Dots():
            axes.scatter(
                mark.x, mark.y, c=mark.color, marker=_SHAPES[mark.shape], s=mark.size**2, alpha=mark.opacity,
                linewidths=1.2 if mark.shape == "cross" else 0,
            )  # fmt: skip
        case Band():
            axes.fill_between(mark.x, mark.low, mark.high, color=mark.color, alpha=mark.opacity, linewidth=0)
        case Bars():
            lengths = [end - start for start, end in zip(mark.start, mark.end, strict=True)]
            error = {"xerr": mark.errors, "ecolor": INK} if mark.errors is not None else {}
            axes.barh(mark.y, lengths, left=mark.start, height=mark.thickness, color=mark.color, **error)
        case Heat():
            colors = LinearSegmentedColormap.from_list("shades", SHADES)
            extent = (*mark.x, *mark.y)
            image = axes.imshow(mark.values, cmap=colors, extent=extent, origin="lower", aspect="auto")
            axes.grid(False)
            bar = axes.figure.colorbar(image, ax=axes, fraction=0.06)
            bar.set_label(shorten(mark.label, 40), fontsize=points)
            bar.ax.tick_params(labelsize=points)
        case Words():
            rim = [withStroke(linewidth=2.5, foreground=PAPER)]
            for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
                offset = {"xytext": (0.4 * points, 0), "textcoords": "offset points", "va": "center"}
                axes.annotate(text, (x, y), fontsize=points, color=INK, path_effects=rim, **offset)


def _draw_table(axes: Any, cells: Cells, points: float, wide: int) -> None:
    axes.axis("off")
    widths = [max(map(len, column)) + 2 for column in zip(cells.heads, *cells.rows, strict=True)]
    fit = min(1.0, wide / sum(widths))
    shown = [[shorten(cell, max(int(n * fit), 2)) for cell, n in zip(row, widths, strict=True)] for row in cells.rows]
    heads = [shorten(head, max(int(n * fit), 2)) for head, n in zip(cells.heads, widths, strict=True)]
    shares = [n / sum(widths) for n in widths]
    table = axes.table(
        shown, colLabels=heads, loc="upper left", cellLoc="left", colLoc="left", colWidths=shares, edges="B"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(points)
    table.scale(1, 1.2)
