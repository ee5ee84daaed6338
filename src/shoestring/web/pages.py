"""The pages about all studies: the list and comparisons. Templates escape every value that they are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version as version_of
from typing import Any

from shoestring.core.heartbeats import WorkerRecord
from shoestring.display.html import STYLE
from shoestring.views.formatting import amount, method_name, number, settings
from shoestring.views.states import brief_state
from shoestring.views.tables import Table
from shoestring.views.trace import Trace
from shoestring.web.charts import plotly_script
from shoestring.web.links import query
from shoestring.web.reader import Overview
from shoestring.web.rendering import render


def page(template: str, title: str, study: str = "", stream: str = "", version: str = "", **values: Any) -> str:
    """A whole page; ``stream`` says when there is something newer than ``version``."""
    shown = {"title": title, "study": study, "stream": stream, "version": version, "plotly": _plotly(), **values}
    return render(template, **shown)


@cache
def _plotly() -> str:
    """The address of plotly.js, with its version; empty where plotly is not installed."""
    try:
        return f"/static/plotly.min.js?v={version_of('plotly')}" if plotly_script() else ""
    except PackageNotFoundError:
        return ""


def error_page(message: str) -> str:
    return page("page.html", "This did not work", message=message)


def stylesheet() -> str:
    return STYLE + render("style.css")


def list_body(studies: Sequence[Overview]) -> str:
    """The table of all studies, and those that cannot be read with the reason."""
    return render("studies_list.html", **_list(studies))


def _list(studies: Sequence[Overview]) -> dict[str, Any]:
    broken = [(study.name, study.problem) for study in studies if study.problem]
    return {"studies": studies, "problems": Table(["study", "cannot be read"], broken)}


def list_version(studies: Sequence[Overview]) -> str:
    """Return a version that changes when the list has something new to show."""
    return blake2b(repr(studies).encode("utf-8", "replace"), digest_size=8).hexdigest()


def list_page(studies: Sequence[Overview]) -> str:
    return page("studies.html", "Studies", stream="/events", version=list_version(studies), **_list(studies))


def _by_name(trace: Trace) -> str:
    """The name without the number at its end, which is usually the seed."""
    return re.sub(r"[-_ ]*(seed)?[-_ ]*\d+$", "", trace.name) or trace.name


def _by_method(trace: Trace) -> str:
    return method_name(trace.history.opened.method)


# By what studies are grouped, for bands over seeds; the first is the default.
GROUPINGS: dict[str, tuple[str, Callable[[Trace], str]]] = {
    "name": ("name without its number", _by_name),
    "method": ("method", _by_method),
    "study": ("nothing: each study by itself", lambda trace: trace.name),
}


def group(traces: Sequence[Trace], by: str) -> dict[str, list[Trace]]:
    """The studies by group; the groups are in the order of their first study."""
    groups: dict[str, list[Trace]] = {}
    for trace in traces:
        groups.setdefault(GROUPINGS[by][1](trace), []).append(trace)
    return groups


def compare_studies(studies: Sequence[tuple[Trace, Sequence[WorkerRecord]]], by: str) -> str:
    traces = [trace for trace, _ in studies]
    bests = [trace.best() for trace in traces]
    counts = Counter(GROUPINGS[by][1](trace) for trace in traces)
    rows = [
        (
            GROUPINGS[by][1](trace),
            trace.name,
            brief_state(trace.history, workers),
            method_name(trace.history.opened.method),
            "-" if best is None else number(best.value),
            "-" if best is None else settings(best.config),
            len(trace.history.trials),
            *(amount(unit, trace.history.ledger.spent()[unit]) for unit in ("steps", "seconds")),
        )
        for (trace, workers), best in zip(studies, bests, strict=True)
    ]
    heads = ["group", "study", "state", "method", "best", "configuration", "trials", "steps", "seconds"]
    names = [trace.name for trace in traces]
    return page(
        "compare_studies.html", "Compare studies",
        content=Table(heads, rows), source="/regret" + query(study=names, by=[by]), names=names, by=by,
        groupings={name: label for name, (label, _) in GROUPINGS.items()}, several=max(counts.values()) > 1,
    )  # fmt: skip
