"""The page of a study, as a person reads it: how far it is, what it found, why, and all trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from shoestring.core.front import members
from shoestring.core.heartbeats import WorkerRecord
from shoestring.core.history import History
from shoestring.core.remarks import ARCHIVED
from shoestring.views.configurations import as_options, as_python, as_yaml
from shoestring.views.formatting import best_line, cut, duration, method_name, moment, number, settings, short_path
from shoestring.views.progress import end_line, progress_of
from shoestring.views.states import brief_state, states
from shoestring.views.tables import Table, account_table, failure_table, turning_table
from shoestring.views.trace import Trace
from shoestring.web.charts import Chart, charts_of, controls
from shoestring.web.links import url
from shoestring.web.markdown import markdown
from shoestring.web.pages import page
from shoestring.web.rendering import render

# The charts of each section. The first section is drawn at once, the others when they are scrolled to.
_FIRST = ("front", "volume", "curves", "history")
_FOUND = ("parallel", "importance", "contour", "slices", "metrics", "pareto")
_WENT = ("workers", "burn_down", "shares")
_WHY = ("rungs", "forecast")
# Tables that are loaded when they are scrolled to: content, and what is said if there is no row.
PARTS: dict[str, tuple[Callable[[Trace], Table], str]] = {
    "budget": (account_table, ""),
    "failures": (failure_table, "No trial failed."),
    "turning": (turning_table, "No grant yet."),
}
# Rows of running trials and workers.
_MOST_ROWS = 20
_MOST_FRONT = 30


@dataclass(frozen=True)
class Seen:
    """Render the parts of a study's page; with a ``secret`` it has forms."""

    trace: Trace
    workers: Sequence[WorkerRecord]
    checkpoint: Path | None = None
    secret: str | None = None


def copies_of(config: dict[str, Any]) -> dict[str, str]:
    """A configuration as the buttons copy it."""
    return {"Python": as_python(config), "YAML": as_yaml(config), "command line": as_options(config)}


def study_head(seen: Seen) -> str:
    """The part of a study's page that changes while it runs."""
    return render("study_head.html", study=seen.trace.name, secret=seen.secret, **_head(seen))


def _head(seen: Seen) -> dict[str, Any]:
    trace, history = seen.trace, seen.trace.history
    best = trace.best()
    words = brief_state(history, seen.workers)
    return {
        "state": words,
        "badge": words.partition(":")[0].partition(",")[0],
        "count": len(history.trials),
        "states": states(history),
        "queue": history.queue,
        "progress": progress_of(history),
        "end": end_line(history),
        "facts": _facts(trace),
        "best": best,
        "best_value": "" if best is None else number(best.value),
        "best_line": "" if best is None else best_line(best, history).partition(" ")[2],
        "objectives": list(history.opened.objectives or ()),
        "config": Table(["parameter", "value"], [] if best is None else list(best.config.items())),
        "copies": {} if best is None else copies_of(best.config),
        "checkpoint": seen.checkpoint and short_path(seen.checkpoint),
        "why_empty": cut(trace.why_empty()),
        "note": markdown(history.note) if history.note else "",
        "tags": history.tags,
        "front": _front(trace),
        "workers": _worker_table(seen.workers),
        "more_workers": len(seen.workers) - _MOST_ROWS,
        "running": list(islice(history.running.values(), _MOST_ROWS)),
        "drift": history.drift,
        "moment": moment,
    }


def _front(trace: Trace) -> list[tuple[int, list[str], str]]:
    """The trial, the values and the configuration of each member of the front; nothing with one objective."""
    history = trace.history
    if not history.goals.several:
        return []
    found = members(history)[:_MOST_FRONT]
    return [(one.trial, [number(value) for value in one.values.values()], settings(one.config)) for one in found]


def _facts(trace: Trace) -> list[tuple[str, str]]:
    history = trace.history
    steps = f", at most {history.max_resource} steps a trial" if (history.max_resource or 1) > 1 else ""
    facts = [("method", f"{method_name(history.opened.method)}{steps}"), ("goal", _goal(history))]
    if trace.spans:
        facts.append(("started", moment(trace.spans[0].begin + history.drift)))
    facts.append(("last event", moment(history.now + history.drift)))
    facts.append(("ran for", duration(history.ledger.seconds)))
    return facts


def _goal(history: History) -> str:
    """The objectives and the constraints, in words."""
    opened = history.opened
    goals = ", ".join(f"{name} ({mode})" for name, mode in (opened.objectives or {}).items())
    goals = goals or f"the {'largest' if opened.mode == 'max' else 'smallest'} value"
    bounds = ", ".join(f"{name} {text}" for name, text in (opened.constraints or {}).items())
    return f"{goals}; {bounds}" if bounds else goals


def _worker_table(workers: Sequence[WorkerRecord]) -> Table:
    """List the workers that run trials, or could: the last heartbeat of each lease, and the trials that it holds."""
    rows = [
        (
            worker.name or "no worker",
            worker.state if worker.name else "released",
            "-" if worker.seconds is None else f"{duration(max(worker.seconds, 0.0))} ago",
            ", ".join(map(str, worker.trials[:20])) + ("…" if len(worker.trials) > 20 else ""),
        )
        for worker in workers[:_MOST_ROWS]
    ]
    return Table(["worker", "state", "last heartbeat", "runs trials"], rows)


def study_page(seen: Seen, version: str) -> str:
    trace, history = seen.trace, seen.trace.history
    best = trace.best()
    start = {} if best is None else best.config
    return page(
        "study.html", trace.name, trace.name, url("study", trace.name, "events"), version, secret=seen.secret,
        start={name: start.get(name, "") for name in history.codec.space},
        first=_charts_of(trace, _FIRST), found=_charts_of(trace, _FOUND), went=_charts_of(trace, _WENT),
        why=_charts_of(trace, _WHY),
        raw_note=history.note, own_tags=", ".join(tag for tag in history.tags if tag != ARCHIVED),
        archived=ARCHIVED in history.tags, **_head(seen),
    )  # fmt: skip


def _charts_of(trace: Trace, kinds: Sequence[str]) -> list[tuple[Chart, Any]]:
    """Charts with what can be chosen of them."""
    return [(chart, controls(trace, chart)) for chart in charts_of(trace.history, kinds)]


def part(trace: Trace, name: str) -> str:
    """A table that is loaded when it is scrolled to."""
    content, if_empty = PARTS[name]
    return render("part.html", content=content(trace), if_empty=if_empty)
