"""The charts of a study's page: their names, what can be chosen, and what is drawn for a request.

A choice in an address counts only if the page offers it, so that few pictures are kept and nothing else is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shoestring import plots
from shoestring.core.budget import UNITS
from shoestring.core.history import History
from shoestring.plots.figure_values import figure_values
from shoestring.plots.metric_readings import values_of_readings
from shoestring.plots.picture import Picture, drawable
from shoestring.plots.style import darken
from shoestring.plots.svg import svg
from shoestring.views.trace import Trace

# The widths of pictures in pixels, so that few are drawn: on a phone, in half of the page, and across all of it.
NARROW, WIDE, FULL = 360, 640, 1280
_SCALES = {"": (None, "as the values suggest"), "linear": (False, "linear"), "log": (True, "logarithmic")}
_STEPS = {"best": "the best of each", "final": "at the last step", "common": "at a step that many have reached"}
_SHARES = (0.5, 0.1, 0.25, 0.75, 0.9)

Choices = dict[str, tuple[Any, str]]


@dataclass(frozen=True)
class Option:
    """Something to choose: the option of the plot, its label, and for a study the choices with values and labels.

    The first choice is the default.
    """

    name: str
    label: str
    choices: Callable[[Trace], Choices]


@dataclass(frozen=True)
class Chart:
    """A plot on the page; ``slow`` ones fit a model, ``of_steps`` ones say nothing about black boxes, and ``of_fronts``
    ones need several objectives.
    """

    kind: str
    title: str
    about: str
    options: Sequence[Option] = ()
    wide: bool = False
    slow: bool = False
    of_steps: bool = False
    of_fronts: bool = False


def _always(choices: Choices) -> Callable[[Trace], Choices]:
    return lambda _: choices


def _parameters(first: str) -> Callable[[Trace], Choices]:
    """The parameters that vary, after a choice that leaves it to the plot."""
    return lambda trace: {"": (None, first)} | {axis.name: (axis.name, axis.name) for axis in trace.history.codec.axes}


def _values(first: str) -> Callable[[Trace], Choices]:
    """The values of the readings, ``first`` before the others."""

    def choices(trace: Trace) -> Choices:
        known = values_of_readings(trace)
        own = [first] if first in known else known[3:] or ["value"]
        return {name: (name, name) for name in dict.fromkeys([*own[:1], *known])}

    return choices


def _objectives(trace: Trace) -> Choices:
    goals = trace.history.goals
    return {name: (name, name) for name in goals.names} if goals.several else {"": (None, "value")}


def _units(trace: Trace) -> Choices:
    return {unit: (unit, unit) for unit in dict.fromkeys([trace.unit, *UNITS[:3]])}


def _steps_of(trace: Trace) -> Choices:
    if (trace.history.max_resource or 1) == 1:
        return {"best": ("best", _STEPS["best"])}
    return {name: (name, label) for name, label in _STEPS.items()}


_OBJECTIVE = Option("objective", "objective", _objectives)
_LOG = Option("log", "values", _always(_SCALES))
_STEP = Option("step", "reading", _steps_of)
_COLOR = Option("color", "colour", _parameters("by how they ended"))
_RUNNING = Option("best_so_far", "readings", _always({"": (False, "all"), "yes": (True, "best so far")}))
_MOMENT = Option("at", "after", _always({str(s): (s, f"{s:.0%} of the budget") for s in _SHARES}))
_KIND = Option("kind", "measure", _always({kind: (kind, kind) for kind in ("fanova", "permutation")}))

CHARTS = {
    chart.kind: chart
    for chart in (
        Chart("front", "Pareto front", "Every pair of objectives; no other trial beats the front in all.",
              wide=True, of_fronts=True),
        Chart("volume", "Hypervolume against budget", "How much the front dominates, after every reading.",
              (Option("unit", "budget", _units),), of_fronts=True),
        Chart("curves", "Learning curves", "The readings of each trial.", (_OBJECTIVE, _LOG, _RUNNING, _COLOR),
              of_steps=True),
        Chart("history", "Best against budget", "Every reading, and the best so far.",
              (_OBJECTIVE, _LOG, Option("unit", "budget", _units))),
        Chart("parallel", "Parallel coordinates",
              "A line for each configuration; the best stand out. Drag along an axis to select a range: the table of "
              "trials then shows what is in it. Hold Shift to add a range on another axis.", (_OBJECTIVE, _STEP),
              wide=True),
        Chart("importance", "Importance", "How much of the value each parameter explains by itself.",
              (_OBJECTIVE, _KIND, _STEP), slow=True),
        Chart("contour", "Contour", "What a forest predicts over two parameters.",
              (Option("x", "x", _parameters("what matters most")), Option("y", "y", _parameters("what matters next")),
               _OBJECTIVE, _STEP), slow=True),
        Chart("slices", "Slices", "The value against each parameter.", (_OBJECTIVE, _STEP), wide=True),
        Chart("metrics", "Metrics", "Any value of the readings against any other.",
              (Option("x", "x", _values("step")), Option("y", "y", _values("")))),
        Chart("pareto", "Trade-offs", "Two goals of each trial, and those that no other beats in both.", slow=True),
        Chart("workers", "Timeline", "What each worker ran, and how long it was idle.", wide=True),
        Chart("rungs", "Rungs and brackets", "How many trials reached and passed each rung.", wide=True, of_steps=True),
        Chart("forecast", "Forecasts", "What was forecast of the leading curves, and how they came out.", (_MOMENT,),
              wide=True, slow=True, of_steps=True),
        Chart("burn_down", "What was left of the budget", "The share of each unit over time."),
        Chart("shares", "Where the budget went", "By configuration, and by the step that was granted."),
    )
}  # fmt: skip


def charts_of(history: History, kinds: Sequence[str]) -> list[Chart]:
    """Select the charts that say something about a study: black boxes have no curves and no rungs."""
    iterative, several = (history.max_resource or 1) > 1, history.goals.several
    found = [CHARTS[kind] for kind in kinds]
    return [one for one in found if (iterative or not one.of_steps) and (several or not one.of_fronts)]


@dataclass(frozen=True)
class Control:
    """One choice as the page shows it: values of the address with their labels."""

    name: str
    label: str
    choices: list[tuple[str, str]] = field(default_factory=list)


def controls(trace: Trace, chart: Chart) -> list[Control]:
    """List the choices of a chart; none where there is only one."""
    found = [(option, option.choices(trace)) for option in chart.options]
    return [
        Control(option.name, option.label, [(value, label) for value, (_, label) in choices.items()])
        for option, choices in found
        if len(choices) > 1
    ]


def read_options(trace: Trace, chart: Chart, query: Mapping[str, str]) -> dict[str, Any]:
    """The options of the plot for an address; options that the page does not offer have their defaults."""
    found = {}
    for option in chart.options:
        choices = option.choices(trace)
        given = query.get(option.name, "")
        found[option.name] = choices[given if given in choices else next(iter(choices))][0]
    if chart.kind == "contour" and found["x"] == found["y"]:
        found["y"] = None
    return found


def draw(trace: Trace, chart: Chart, options: Mapping[str, Any]) -> Picture:
    """The picture of a chart, ready for any renderer."""
    record: Any = getattr(plots, chart.kind).data(trace, **options)
    return drawable(record.picture())


def render_chart(picture: Picture, query: Mapping[str, str]) -> tuple[str, str]:
    """Render a picture as a request wants it, with its type: SVG, or the values that the script gives to plotly.js."""
    width = next((width for width in (NARROW, WIDE, FULL) if query.get("width") == str(width)), WIDE)
    if query.get("as") == "values":
        document = json.dumps(figure_values(picture, width), allow_nan=False, separators=(",", ":"))
    else:
        document = svg(picture, width)
    if query.get("theme") == "dark":
        document = darken(document)
    return document, "application/json" if query.get("as") == "values" else "image/svg+xml"


def plotly_script() -> Path | None:
    """The file of plotly.js in the installed package plotly; None without it. Nothing of plotly is imported."""
    found = find_spec("plotly")
    for folder in (found and found.submodule_search_locations) or ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path
    return None
