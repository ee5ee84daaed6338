"""The report of a study: one HTML file with everything in it, which opens from a mail and needs no network."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from shoestring import __version__, plots
from shoestring.core.budget import UNITS
from shoestring.display.html import STYLE, meters
from shoestring.errors import MethodError
from shoestring.study import Study
from shoestring.views.formatting import best_line, method_name, moment, settings, shell_arguments
from shoestring.views.states import condition, states
from shoestring.views.tables import account_table, failure_table, leader_table, turning_table
from shoestring.views.trace import Trace, trace_of
from shoestring.web.rendering import render

# Plots for every study, and those that only iterative objectives have something to show in.
_PLOTS = ("history", "burn_down", "shares", "workers", "parallel", "slices", "importance", "contour", "pareto")
_OF_FRONTS = ("front", "volume")
_OF_CURVES = ("curves", "forecast", "rungs")
_WIDTH = 960


def report(study: Study, *, storage: str | None = None, verify: bool = True) -> str:
    """The report as the text of an HTML file. ``storage`` is what the commands to resume it name.

    ``verify`` replays the log, which takes as long as the method took for its decisions.
    """
    trace = trace_of(study)
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
        turning=turning_table(trace),
        pictures=_pictures(trace),
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


def _pictures(trace: Trace) -> dict[str, Markup]:
    kinds = (*_OF_CURVES, *_PLOTS) if (trace.history.max_resource or 1) > 1 else _PLOTS
    kinds = (*_OF_FRONTS, *kinds) if trace.history.goals.several else kinds
    return {kind: Markup(getattr(plots, kind)(trace, backend="svg", width=_WIDTH)) for kind in kinds}


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
