"""Pictures as the plain values that plotly draws: the traces and the layout of a figure.

Nothing of plotly is imported, so the dashboard and the report can send them to plotly.js, and ``with_plotly`` makes a
figure of them. Texts are escaped, because plotly reads some HTML in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from shoestring.plots.picture import Band, Bars, Cells, Dots, Heat, Line, Mark, Numbers, Panel, Picture, Words
from shoestring.plots.style import INK, PALE, PAPER, SHADES, Layout, layout, limits, must_turn, shorten, tick_places

Values = dict[str, Any]
_SHAPES = {"circle": "circle", "cross": "x", "square": "square", "triangle": "triangle-up"}
# Pixels above the panels for the title, and below them for a row of the legend.
_TOP, _LEGEND_ROW = 60, 22


def figure_values(picture: Picture, width: int = 800) -> Values:
    """The ``data`` and the ``layout`` of the picture as a plotly figure."""
    plan = layout(picture, width)
    rows = 1 + sum(len(getattr(mark, "label", "")) + 6 for mark in picture.legend()) * 7 // width
    below = 10 + _LEGEND_ROW * rows
    drawn = _Figure(picture, plan)
    drawn.layout |= {
        "width": width, "height": plan.height + _TOP + 20 + below, "plot_bgcolor": PAPER, "paper_bgcolor": PAPER,
        "font": {"size": plan.font, "color": INK}, "margin": {"l": 10, "r": 10, "t": _TOP, "b": below},
        "barmode": "overlay", "hovermode": "closest", "annotations": drawn.annotations,
        "title": {"text": escape(shorten(picture.title, int(width / 9))), "x": 0.01, "font": {"size": plan.font + 3}},
        "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
    }  # fmt: skip
    return {"data": drawn.data, "layout": drawn.layout}


@dataclass
class _Figure:
    """The figure so far: one pair of axes for each panel, numbered from 1."""

    picture: Picture
    plan: Layout
    data: list[Values] = field(default_factory=list)
    layout: Values = field(default_factory=dict)
    annotations: list[Values] = field(default_factory=list)
    named: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.picture.panels:
            middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
            self.annotations.append({"text": escape(self.picture.note), "width": 0.8 * self.plan.width, **middle})
            self.layout |= {"xaxis": {"visible": False}, "yaxis": {"visible": False}}
        for place, panel in enumerate(self.picture.panels):
            self._draw(panel, place)

    def _draw(self, panel: Panel, place: int) -> None:
        number = str(place + 1) if place else ""
        x, y = self._domains(place)
        title = shorten(panel.title, int(self.plan.panel_width / 7))
        if title:
            above = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False}
            self.annotations.append({"text": escape(title), "x": x[0], "y": y[1], **above})
        for mark in panel.marks:
            for trace in _traces(mark, self.named):
                if isinstance(mark, Cells):
                    trace["domain"] = {"x": x, "y": y}
                else:
                    trace |= {"xaxis": f"x{number}", "yaxis": f"y{number}"}
                if isinstance(mark, Heat):
                    trace["colorbar"] |= {"x": x[1] + 0.01, "y": sum(y) / 2, "len": y[1] - y[0]}
                self.data.append(trace)
        if not panel.table:
            for axis, domain, other in (("x", x, "y"), ("y", y, "x")):
                anchor = {"domain": domain, "anchor": f"{other}{number}"}
                self.layout[f"{axis}axis{number}"] = _axis(panel, axis, self.plan) | anchor

    def _domains(self, place: int) -> tuple[list[float], list[float]]:
        """The place of a panel in the figure: from left to right and from the bottom to the top, as shares."""
        plan = self.plan
        row, column = divmod(place, plan.columns)
        gap = 0.3 / plan.columns if plan.columns > 1 else 0.0
        wide = (1 - gap * (plan.columns - 1)) / plan.columns
        between = min(75 / plan.height, 0.9 / plan.rows) if plan.rows > 1 else 0.0
        scale = (1 - between * (plan.rows - 1)) / plan.height
        top = 1 - scale * sum(plan.heights[:row]) - between * row
        left = column * (wide + gap)
        return [left, min(left + wide, 1.0)], [max(top - scale * plan.heights[row], 0.0), top]


def _axis(panel: Panel, axis: str, plan: Layout) -> Values:
    log, given, ticks = (getattr(panel, f"{axis}_{part}") for part in ("log", "range", "ticks"))
    options: Values = {
        "title": {"text": escape(getattr(panel, axis))}, "type": "log" if log else "linear", "gridcolor": PALE,
        "linecolor": INK, "automargin": True, "zeroline": False,
    }  # fmt: skip
    if given:
        options["range"] = [math.log10(end) for end in given] if log else list(given)
    if log and ticks is None:
        ticks = [(at, f"{at:g}") for at in tick_places(*limits(panel, axis), log, 5)]
    if ticks is not None:
        labels = [escape(shorten(label, 28)) for _, label in ticks]
        options |= {"tickvals": [at for at, _ in ticks], "ticktext": labels}
        if axis == "x" and must_turn(labels, 0.8 * plan.panel_width, plan.font):
            options["tickangle"] = -90
    return options


def _numbers(values: Numbers) -> list[float | None]:
    """The values as JSON can hold them: a gap is None."""
    return [float(value) if math.isfinite(value) else None for value in values]


def _traces(mark: Mark, named: set[str]) -> Iterator[Values]:
    label = getattr(mark, "label", "")
    legend = {"name": escape(label), "legendgroup": label, "showlegend": bool(label) and label not in named}
    named.add(label)
    keys = {"customdata": list(mark.keys)} if getattr(mark, "keys", ()) else {}  # type: ignore[union-attr]
    match mark:
        case Line():
            shape = "hv" if mark.steps else "linear"
            line = {"color": mark.color, "dash": mark.dash, "width": mark.width, "shape": shape}
            yield {**_scatter(mark.x, mark.y, "lines"), "line": line, "opacity": mark.opacity, **legend, **keys}
        case Dots():
            color = mark.color if isinstance(mark.color, str) else list(mark.color)
            marker = {"color": color, "symbol": _SHAPES[mark.shape], "size": mark.size + 1, "opacity": mark.opacity}
            yield {**_scatter(mark.x, mark.y, "markers"), "marker": marker, **legend, **keys}
        case Band():
            around, back = [*mark.x, *reversed(mark.x)], [*mark.high, *reversed(mark.low)]
            area = {"fill": "toself", "fillcolor": mark.color, "opacity": mark.opacity, "line": {"width": 0}}
            yield {**_scatter(around, back, "lines"), "hoverinfo": "skip", **area, **legend}
        case Bars():
            lengths = [end - start for start, end in zip(mark.start, mark.end, strict=True)]
            bars: Values = {
                "type": "bar", "y": _numbers(mark.y), "x": _numbers(lengths), "base": _numbers(mark.start),
                "orientation": "h", "marker": {"color": mark.color}, "width": mark.thickness, **legend, **keys,
            }  # fmt: skip
            if mark.errors is not None:
                bars["error_x"] = {"array": _numbers(mark.errors), "color": INK, "thickness": 1}
            yield bars
        case Heat():
            yield _heat(mark)
        case Words():
            texts = [escape(text) for text in mark.texts]
            place = {"textposition": "middle right", "hoverinfo": "skip", "showlegend": False}
            yield {**_scatter(mark.x, mark.y, "text"), "text": texts, **place}
        case Cells():
            heads = [escape(head) for head in mark.heads]
            columns = [[escape(cell) for cell in column] for column in zip(*mark.rows, strict=True)]
            align = {"align": "left", "fill": {"color": PAPER}, "line": {"color": PALE}, "height": 20}
            yield {"type": "table", "header": {"values": heads, **align}, "cells": {"values": columns, **align}}


def _scatter(x: Numbers, y: Numbers, mode: str) -> Values:
    return {"type": "scatter", "x": _numbers(x), "y": _numbers(y), "mode": mode}


def _heat(heat: Heat) -> Values:
    rows, columns = len(heat.values), len(heat.values[0])
    wide, tall = (heat.x[1] - heat.x[0]) / columns, (heat.y[1] - heat.y[0]) / rows
    return {
        "type": "heatmap", "z": [_numbers(row) for row in heat.values],
        "x0": heat.x[0] + wide / 2, "dx": wide, "y0": heat.y[0] + tall / 2, "dy": tall,
        "colorscale": [[i / (len(SHADES) - 1), color] for i, color in enumerate(SHADES)],
        "colorbar": {"title": {"text": escape(heat.label), "side": "right"}, "thickness": 12},
    }  # fmt: skip
