"""The report of a study: one HTML file with everything in it, which opens from a mail and needs no network."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from shoestring import __version__, plots
from shoestring.cli.arguments import shell_arguments
from shoestring.cli.inspection import condition
from shoestring.core.budget import UNITS
from shoestring.errors import MethodError
from shoestring.plots.trace import Trace, trace_of
from shoestring.study import Study
from shoestring.ui.formatting import best_line, method_name, settings, states
from shoestring.ui.html import STYLE, account_table, failure_table, leader_table, meters, text, turning_table

# Plots for every study, and those that only iterative objectives have something to show in.
_PLOTS = ("history", "burn_down", "shares", "workers", "parallel", "slices", "importance", "contour", "pareto")
_OF_CURVES = ("curves", "forecast", "rungs")
# On a narrow screen what is too wide is scrolled, and plots stay large enough to be read.
_NARROW = """
@media (max-width: 640px) {
  .shoestring table { display: block; overflow-x: auto; }
  .shoestring section { overflow-x: auto; }
  .shoestring section > svg { max-width: none; width: 720px; }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report(study: Study, *, storage: str | None = None, verify: bool = True) -> str:
    """The report as the text of an HTML file. ``storage`` is what the commands to resume it name.

    ``verify`` replays the log, which takes as long as the method took for its decisions.
    """
    body = "\n".join(_body(study, trace_of(study), storage, verify))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{text(study.name)}</title><style>body {{ margin: 1em; }}{STYLE}{_NARROW}</style></head>\n"
        f'<body><div class="shoestring">{body}</div></body></html>\n'
    )


def _body(study: Study, trace: Trace, storage: str | None, verify: bool) -> list[str]:
    return [
        f"<h1>{text(study.name)}</h1>",
        *_headline(study, trace),
        *_section("Budget", account_table(trace)),
        *_section("Best configurations", leader_table(trace)),
        *_section("Failures", failure_table(trace)),
        *_section("What the method said at turning points", turning_table(trace)),
        *_section("Plots", *_drawn(trace)),
        *_section("Continue", _commands(study, storage)),
        *_section("Audit", _audit(study) if verify else "<p>The decisions were not verified.</p>"),
        *_section("Method", *_method(study, trace)),
    ]


def _section(title: str, *content: str) -> Iterator[str]:
    yield f"<h2>{title}</h2>"
    yield from content


def _headline(study: Study, trace: Trace) -> Iterator[str]:
    history = trace.history
    found = history.best()
    yield f"<p>{text(condition(study))}: {len(history.trials)} trials, {text(states(history.trials))}</p>"
    yield meters(trace)
    if found is None:
        yield f"<p><b>{text(trace.lack())}</b></p>"
        return
    goal = "largest" if history.opened.mode == "max" else "smallest"
    yield f"<p><b>The {goal} value is {text(best_line(found, history))}.</b></p>"
    yield f"<p><code>{text(settings(found.config))}</code></p>"


def _drawn(trace: Trace) -> Iterator[str]:
    kinds = (*_OF_CURVES, *_PLOTS) if (trace.history.max_resource or 1) > 1 else _PLOTS
    for kind in kinds:
        picture = getattr(plots, kind)(trace, backend="svg", width=960)
        yield f'<section id="{kind}">{picture}</section>'


def _commands(study: Study, storage: str | None) -> str:
    if storage is None:
        return "<p>Run the script that started the study again: it continues to the same total.</p>"
    place = shell_arguments(storage, study.name)
    lines = [f"shoestring resume {place}", f"shoestring best {place}", f"shoestring verify {place}"]
    return f"<pre>{text(chr(10).join(lines))}</pre><p>With --budget, resume continues to a larger total.</p>"


def _audit(study: Study) -> str:
    try:
        found = study.verify()
    except MethodError as error:  # a method of the user's own, which the log cannot rebuild
        return f"<p>The decisions could not be verified: {text(error)}</p>"
    if found.ok:
        return f"<p>The log was replayed: all {found.checked} grants are what the method decides.</p>"
    return f"<p><b>Event {found.position} differs from what the method decides:</b> {text(found.difference)}</p>"


def _method(study: Study, trace: Trace) -> Iterator[str]:
    opened = trace.history.opened
    limits = ", ".join(unit for unit in UNITS if unit in opened.budget)
    yield f"<p>{text(method_name(opened.method))}, seed {opened.seed}, a budget of {limits}</p>"
    try:
        for reference in study.references():
            yield f'<p class="quiet">{text(reference)}</p>'
    except MethodError:
        yield '<p class="quiet">The method is not known here, so its references are not either.</p>'
    last = datetime.fromtimestamp(trace.history.now, UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield f'<p class="quiet">{trace.history.position} events, the last at {last}; shoestring {__version__}</p>'
