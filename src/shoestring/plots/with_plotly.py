"""Pictures as plotly figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shoestring.plots.picture import Band, Bars, Cells, Dots, Heat, Line, Mark, Panel, Picture
from shoestring.plots.style import INK, PALE, PAPER, SHADES, Layout, layout, limits, shortened, tick_places, turned

_SHAPES = {"circle": "circle", "cross": "x", "square": "square", "triangle": "triangle-up"}


def figure(picture: Picture, width: int = 800) -> go.Figure:
    """The picture as a figure. Texts are escaped, because plotly reads some HTML in them."""
    plan = layout(picture, width)
    kinds = [{"type": "table" if panel.table else "xy"} for panel in picture.panels] or [{"type": "xy"}]
    kinds += [{"type": "xy"}] * (plan.rows * plan.columns - len(kinds))
    drawn = make_subplots(
        plan.rows, plan.columns, specs=[kinds[row * plan.columns :][: plan.columns] for row in range(plan.rows)],
        subplot_titles=[escape(shortened(panel.title, int(plan.panel_width / 7))) for panel in picture.panels] or None,
        row_heights=list(plan.heights),
        vertical_spacing=min(75 / plan.height, 0.9 / plan.rows) if plan.rows > 1 else None,
        horizontal_spacing=0.3 / plan.columns if plan.columns > 1 else None,
    )  # fmt: skip
    rows = 1 + sum(len(getattr(mark, "label", "")) + 6 for mark in picture.legend()) * 7 // width
    drawn.update_layout(
        width=width, height=plan.height + 90 + 22 * rows, plot_bgcolor=PAPER, paper_bgcolor=PAPER,
        font={"size": plan.font, "color": INK}, margin={"l": 10, "r": 10, "t": 60, "b": 10 + 22 * rows},
        barmode="overlay",
        title={"text": escape(shortened(picture.title, int(width / 9))), "x": 0.01, "font": {"size": plan.font + 3}},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
    )  # fmt: skip
    if not picture.panels:
        middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
        drawn.add_annotation(text=escape(picture.note), width=0.8 * width, **middle)
        drawn.update_xaxes(visible=False).update_yaxes(visible=False)
        return drawn
    drawn.update_annotations(font_size=plan.font)
    named: set[str] = set()
    for place, panel in enumerate(picture.panels):
        row, column = divmod(place, plan.columns)
        _draw_panel(drawn, panel, plan, row + 1, column + 1, named)
    return drawn


def _draw_panel(drawn: go.Figure, panel: Panel, plan: Layout, row: int, column: int, named: set[str]) -> None:
    for mark in panel.marks:
        for trace in _traces(mark, named):
            drawn.add_trace(trace, row=row, col=column)
        if isinstance(mark, Heat):
            _place_key(drawn, row, column)
    if panel.table:
        return
    for axis in ("x", "y"):
        options = _axis(panel, axis, plan)
        getattr(drawn, f"update_{axis}axes")(row=row, col=column, **options)


def _place_key(drawn: go.Figure, row: int, column: int) -> None:
    area = drawn.get_subplot(row, column)
    drawn.data[-1].colorbar.update(
        x=area.xaxis.domain[1] + 0.01,
        y=sum(area.yaxis.domain) / 2,
        len=area.yaxis.domain[1] - area.yaxis.domain[0],
    )


def _axis(panel: Panel, axis: str, plan: Layout) -> dict[str, Any]:
    log, given, ticks = (getattr(panel, f"{axis}_{part}") for part in ("log", "range", "ticks"))
    options: dict[str, Any] = {
        "title_text": escape(getattr(panel, axis)), "type": "log" if log else "linear", "gridcolor": PALE,
        "linecolor": INK, "automargin": True, "zeroline": False,
    }  # fmt: skip
    if given:
        options["range"] = [math.log10(end) for end in given] if log else list(given)
    if log and ticks is None:
        ticks = [(at, f"{at:g}") for at in tick_places(*limits(panel, axis), log, 5)]
    if ticks is not None:
        labels = [escape(shortened(label, 28)) for _, label in ticks]
        options |= {"tickvals": [at for at, _ in ticks], "ticktext": labels}
        if axis == "x" and turned(labels, 0.8 * plan.panel_width, plan.font):
            options["tickangle"] = -90
    return options


def _traces(mark: Mark, named: set[str]) -> Iterator[Any]:
    label = getattr(mark, "label", "")
    legend = {"name": escape(label), "legendgroup": label, "showlegend": bool(label) and label not in named}
    named.add(label)
    match mark:
        case Line():
            line = {
                "color": mark.color,
                "dash": mark.dash,
                "width": mark.width,
                "shape": "hv" if mark.steps else "linear",
            }
            yield go.Scatter(x=list(mark.x), y=list(mark.y), mode="lines", line=line, opacity=mark.opacity, **legend)
        case Dots():
            marker = {
                "color": mark.color, "symbol": _SHAPES[mark.shape], "size": mark.size + 1, "opacity": mark.opacity
            }  # fmt: skip
            yield go.Scatter(x=list(mark.x), y=list(mark.y), mode="markers", marker=marker, **legend)
        case Band():
            around, back = [*mark.x, *reversed(mark.x)], [*mark.high, *reversed(mark.low)]
            area = {"fill": "toself", "fillcolor": mark.color, "opacity": mark.opacity, "line": {"width": 0}}
            yield go.Scatter(x=around, y=back, mode="lines", hoverinfo="skip", **area, **legend)
        case Bars():
            lengths = [end - start for start, end in zip(mark.start, mark.end, strict=True)]
            error = {"array": list(mark.errors), "color": INK, "thickness": 1} if mark.errors is not None else None
            yield go.Bar(
                y=list(mark.y), x=lengths, base=list(mark.start), orientation="h", marker_color=mark.color,
                width=mark.thickness, error_x=error, **legend,
            )  # fmt: skip
        case Heat():
            yield _heat(mark)
        case Cells():
            heads = [escape(head) for head in mark.heads]
            columns = [[escape(cell) for cell in column] for column in zip(*mark.rows, strict=True)]
            align = {"align": "left", "fill_color": PAPER, "line_color": PALE, "height": 20}
            yield go.Table(header={"values": heads, **align}, cells={"values": columns, **align})


def _heat(heat: Heat) -> Any:
    rows, columns = len(heat.values), len(heat.values[0])
    wide, tall = (heat.x[1] - heat.x[0]) / columns, (heat.y[1] - heat.y[0]) / rows
    return go.Heatmap(
        z=[list(row) for row in heat.values], x0=heat.x[0] + wide / 2, dx=wide, y0=heat.y[0] + tall / 2, dy=tall,
        colorscale=list(SHADES), colorbar={"title": {"text": escape(heat.label), "side": "right"}, "thickness": 12},
    )  # fmt: skip
