"""The report of a study: one HTML file with everything in it, which opens from a mail and needs no network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from shoestring import __version__, plots
from shoestring.core.budget import UNITS
from shoestring.core.history import TrialRecord
from shoestring.display.html import STYLE, meters
from shoestring.errors import MethodError
from shoestring.plots.figure_values import figure_values
from shoestring.plots.picture import Picture, drawable
from shoestring.plots.style import DARK
from shoestring.plots.svg import svg
from shoestring.study import Study
from shoestring.views.formatting import best_line, method_name, moment, number, settings, shell_arguments
from shoestring.views.states import condition, states
from shoestring.views.tables import account_table, failure_table, leader_table, remark_table, turning_table
from shoestring.views.trace import Trace, trace_of
from shoestring.web.charts import CHARTS, plotly_script
from shoestring.web.rendering import render

# Plots for every study, and those that only iterative objectives have something to show in.
_PLOTS = ("history", "burn_down", "shares", "workers", "parallel", "slices", "importance", "contour", "pareto")
_OF_FRONTS = ("front", "volume")
_OF_CURVES = ("curves", "forecast", "rungs")
# Plots that are drawn for each of several objectives, and for how many at most.
_OF_EACH, _MOST_OBJECTIVES = ("curves", "parallel", "importance"), 4
_WIDTH = 960


def report(study: Study, *, storage: str | None = None, verify: bool = True, interactive: bool = False) -> str:
    """The report as the text of an HTML file. ``storage`` is what the commands to resume it name.

    ``verify`` replays the log, which takes as long as the method took for its decisions. ``interactive`` puts plotly.js
    of the installed package plotly into the file, which adds 5 MB.
    """
    trace = trace_of(study)
    charts = _charts(trace)
    history, state = trace.history, condition(study)
    return render(
        "report.html",
        name=study.name,
        style=Markup(STYLE),
        state=state,
        trials=len(history.trials),
        states=states(history, over=state.startswith(("finished", "stopped"))),
        meters=Markup(meters(history)),
        **_best(trace),
        account=account_table(trace),
        leaders=leader_table(trace),
        failures=failure_table(trace),
        goals=_goals_in_words(trace),
        tags=", ".join(history.tags),
        note=history.note,
        remarks=remark_table(trace),
        turning=turning_table(trace),
        charts=[(title, id, Markup(svg(picture, _WIDTH))) for id, (title, picture) in charts.items()],
        dark=Markup(_DARK_STYLE),
        **(_interactive(trace, charts) if interactive else {"scripts": (), "hashes": ""}),
        place=None if storage is None else shell_arguments(storage, study.name),
        **(_audit(study) if verify else {"unverified": "The decisions were not verified."}),
        method=method_name(history.opened.method),
        seed=history.opened.seed,
        units=", ".join(unit for unit in UNITS if unit in history.opened.budget),
        references=_references(study),
        events=history.position,
        last=moment(history.now, "%Y-%m-%d %H:%M UTC"),
        package_version=__version__,
    )


def _best(trace: Trace) -> dict[str, str]:
    found = trace.best()
    goal = "largest" if trace.history.opened.mode == "max" else "smallest"
    return {
        "recommended": "The configuration that balances the objectives"
        if trace.history.goals.several
        else f"The {goal} value"
        if found is None or found.expected is None
        else "What is recommended",
        "best": "" if found is None else best_line(found, trace.history),
        "best_settings": "" if found is None else settings(found.config),
        "why_empty": trace.why_empty(),
    }


def _goals_in_words(trace: Trace) -> str:
    """The objectives and the constraints; empty if there are none but the value."""
    goals = trace.history.goals
    modes = ("largest" if sign < 0 else "smallest" for sign in goals.signs)
    named = ", ".join(f"{mode} {name}" for mode, name in zip(modes, goals.names, strict=True)) if goals.named else ""
    bounds = " and ".join(map(str, goals.constraints))
    return " where ".join(part for part in (named or "value" * bool(bounds), bounds) if part)


def _charts(trace: Trace) -> dict[str, tuple[str, Picture]]:
    """The titles and pictures of the charts by their places on the page: some for each of several objectives."""
    kinds = (*_OF_CURVES, *_PLOTS) if (trace.history.max_resource or 1) > 1 else _PLOTS
    goals = trace.history.goals
    names = goals.names[:_MOST_OBJECTIVES] if goals.several else ()
    found = {}
    for kind in (*_OF_FRONTS, *kinds) if names else kinds:
        plot, title = getattr(plots, kind), CHARTS[kind].title
        if kind not in _OF_EACH or not names:
            found[kind] = title, drawable(plot.data(trace).picture())
            continue
        for place, name in enumerate(names):
            found[f"{kind}-{place}"] = f"{title}: {name}", drawable(plot.data(trace, objective=name).picture())
    return found


def _interactive(trace: Trace, charts: Mapping[str, tuple[str, Picture]]) -> dict[str, Any]:
    """Collect what the file needs to draw its charts: the scripts with their hashes, for the policy, and the values."""
    path = plotly_script()
    if path is None:
        raise MethodError("an interactive report needs plotly: pip install 'shoestring[plots]'")
    own = (files("shoestring.web") / "static" / "report.js").read_text(encoding="utf-8")
    scripts = [path.read_text(encoding="utf-8"), own]
    if any("</script" in script.lower() for script in scripts):
        raise MethodError("this version of plotly cannot be put into a page; install another one")
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    configs = {trial.index: _in_words(trial) for trial in trace.history.trials}
    values = {id: _json(figure_values(picture, _WIDTH)) for id, (_, picture) in charts.items()}
    return {
        "scripts": [Markup(text) for text in scripts], "hashes": hashes, "values": values,
        "configs": _json(configs), "colors": _json(DARK),
    }  # fmt: skip


def _in_words(trial: TrialRecord) -> str:
    """A trial as plotly shows it, which reads some HTML: escaped."""
    value = "" if trial.value is None else f"value: {number(trial.value)}"
    lines = [f"trial {trial.index}", value, *(f"{name}: {number(given)}" for name, given in trial.config.items())]
    return "<br>".join(escape(line) for line in lines if line)


def _json(value: object) -> Markup:
    """JSON for a script element, which nothing in it can end."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


# The colours of the pictures where the system prefers a dark theme.
_DARK_STYLE = "".join(
    f'.shoestring svg [{part}="{light}"]{{{part}:{dark}}}'
    for light, dark in DARK.items()
    for part in ("fill", "stroke")
)


def _audit(study: Study) -> dict[str, Any]:
    try:
        return {"audit": study.verify(), "unverified": ""}
    except MethodError as error:  # a method of the user's own, which the log cannot rebuild
        return {"unverified": f"The decisions could not be verified: {error}"}


def _references(study: Study) -> list[str]:
    try:
        return study.references()
    except MethodError:
        return ["The method is not known here, so its references are not either."]
