"""The pages of the dashboard: what a template shows, as plain values. The templates escape all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shoestring.core.events import Event
from shoestring.core.heartbeats import WorkerRecord
from shoestring.core.history import History, TrialRecord
from shoestring.core.planned import origin_of
from shoestring.display.html import STYLE, meters
from shoestring.views.formatting import amount, best_line, cut, duration, method_name, moment, number, settings
from shoestring.views.states import brief_state, is_over, state_words, states
from shoestring.views.tables import Table, account_table, failure_table, turning_table
from shoestring.views.trace import Trace
from shoestring.web.links import query, url
from shoestring.web.reader import Overview
from shoestring.web.rendering import render

# What is drawn on a study's page at once, and what is computed only when it is opened.
PLOTS = ("curves", "history", "burn_down", "shares")
ON_DEMAND = ("workers", "rungs", "forecast", "importance", "parallel", "slices", "contour", "pareto")
# What says nothing about objectives that return one number: the first is left out, the others are not drawn at once.
_OF_STEPS, _RATHER_OF_STEPS = ("curves", "rungs", "forecast"), ("shares",)
# The shares of the budget after which a forecast can be shown; the first is what is shown at first.
MOMENTS = (0.5, 0.1, 0.25, 0.75, 0.9)
# Tables that are loaded when they are opened: label, content, and what is said if there is no row.
PARTS: dict[str, tuple[str, Callable[[Trace], Table], str]] = {
    "budget": ("budget: what it was spent on", account_table, ""),
    "failures": ("failures", failure_table, "No trial failed."),
    "turning": ("what the method said at turning points", turning_table, ""),
}
# Rows of running trials and workers, events of a trial, and characters of a message.
_MOST_ROWS, _MOST_EVENTS, _LONGEST = 20, 500, 20_000


def _page(template: str, title: str, study: str = "", stream: str = "", version: str = "", **values: Any) -> str:
    """A whole page; ``stream`` says when there is something newer than ``version``."""
    return render(template, title=title, study=study, stream=stream, version=version, **values)


def error_page(message: str) -> str:
    return _page("page.html", "This did not work", message=message)


def stylesheet() -> str:
    return STYLE + render("style.css")


def list_body(studies: Sequence[Overview]) -> str:
    """The table of all studies, and those that cannot be read with the reason."""
    return render("studies_list.html", **_list(studies))


def _list(studies: Sequence[Overview]) -> dict[str, Any]:
    broken = [(study.name, study.problem) for study in studies if study.problem]
    return {"studies": studies, "problems": Table(["study", "cannot be read"], broken)}


def list_version(studies: Sequence[Overview]) -> str:
    """What changes when the list has something new to show."""
    return blake2b(repr(studies).encode("utf-8", "replace"), digest_size=8).hexdigest()


def list_page(studies: Sequence[Overview]) -> str:
    return _page("studies.html", "Studies", stream="/events", version=list_version(studies), **_list(studies))


def study_head(trace: Trace, workers: Sequence[WorkerRecord], secret: str | None) -> str:
    """The part of a study's page that changes while it runs."""
    return render("study_head.html", study=trace.name, secret=secret, **_head(trace, workers))


def _head(trace: Trace, workers: Sequence[WorkerRecord]) -> dict[str, Any]:
    history = trace.history
    best = trace.best()
    return {
        "state": brief_state(history, workers),
        "trials": history.trials,
        "states": states(history),
        "queue": history.queue,
        "meters": Markup(meters(history)),
        "best": best,
        "best_line": "" if best is None else best_line(best, history),
        "best_settings": "" if best is None else settings(best.config),
        "why_empty": cut(trace.why_empty()),
        "workers": _worker_table(workers),
        "more_workers": len(workers) - _MOST_ROWS,
        "running": list(islice(history.running.values(), _MOST_ROWS)),
        "drift": history.drift,
        "moment": moment,
    }


def _worker_table(workers: Sequence[WorkerRecord]) -> Table:
    """Who runs trials, or could: the last heartbeat of each lease, and the trials that it holds."""
    rows = [
        (
            worker.name or "nobody",
            worker.state if worker.name else "released",
            "-" if worker.seconds is None else f"{duration(max(worker.seconds, 0.0))} ago",
            ", ".join(map(str, worker.trials[:20])) + ("…" if len(worker.trials) > 20 else ""),
        )
        for worker in workers[:_MOST_ROWS]
    ]
    return Table(["worker", "state", "last heartbeat", "runs trials"], rows)


def study_page(trace: Trace, workers: Sequence[WorkerRecord], version: str, secret: str | None) -> str:
    history = trace.history
    best = trace.best()
    start = {} if best is None else best.config
    at_once, later = _plots_of(history)
    return _page(
        "study.html",
        trace.name,
        trace.name,
        url("study", trace.name, "events"),
        version,
        secret=secret,
        start={name: start.get(name, "") for name in history.codec.space},
        at_once=at_once,
        later=later,
        moments=MOMENTS,
        boxes={part: label for part, (label, _, _) in PARTS.items()},
        **_head(trace, workers),
    )


def part(trace: Trace, name: str) -> str:
    """A table that is loaded when it is opened."""
    _, content, if_empty = PARTS[name]
    return render("part.html", content=content(trace), if_empty=if_empty)


def _plots_of(history: History) -> tuple[list[str], list[str]]:
    """The plots to draw at once, and those to draw when they are opened."""
    if (history.max_resource or 1) > 1:
        return list(PLOTS), list(ON_DEMAND)
    at_once = [kind for kind in PLOTS if kind not in (*_OF_STEPS, *_RATHER_OF_STEPS)]
    return at_once, [*(kind for kind in ON_DEMAND if kind not in _OF_STEPS), *_RATHER_OF_STEPS]


def trial_page(trace: Trace, trial: TrialRecord, events: Sequence[Event], files: Sequence[Path], version: str) -> str:
    name = trace.name
    return _page(
        "trial.html",
        f"{name}: trial {trial.index}",
        name,
        url("study", name, "events"),
        version,
        curve=_curve(name, [trial.index]),
        **_trial(trace, trial, events, files),
    )


def trial_body(trace: Trace, trial: TrialRecord, events: Sequence[Event], files: Sequence[Path], version: str) -> str:
    """The part of a trial's page that changes while it runs."""
    return render("trial_body.html", study=trace.name, **_trial(trace, trial, events, files))


def _trial(trace: Trace, trial: TrialRecord, events: Sequence[Event], files: Sequence[Path]) -> dict[str, Any]:
    own = [(position, event) for position, event in enumerate(events) if _is_of(event, trial)]
    log = [
        (position, moment(event.at + event.drift), event.kind, _event_line(event))
        for position, event in own[-_MOST_EVENTS:]
    ]
    grants = [(f"{s.start + 1} to {s.goal}", s.reason, s.how, s.worker) for s in trace.spans if s.trial == trial.index]
    return {
        "trial": trial,
        "state": state_words(trial.state, is_over(trace.history)),
        "origin": origin_of(trace.history, trial),
        "told": "no reading yet" if trial.recommended is None else f"recommended: {_recommended(trace, trial)}",
        "message": cut(trial.message, _LONGEST),
        "config": Table(["parameter", "value"], list(trial.config.items())),
        "grants": Table(["steps", "reason", "ended", "worker"], grants),
        "files": files,
        "file_url": url("study", trace.name, "trial", trial.index, "file"),
        "events": len(own),
        "log": Table(["event", "time", "kind", "content"], log),
    }


def _curve(name: str, trials: Sequence[int]) -> str:
    return url("study", name, "curves") + query(trial=trials)


def _is_of(event: Event, trial: TrialRecord) -> bool:
    return getattr(event, "trial", None) == trial.index


# Of an event, what its row or its page shows anyway.
_ELSEWHERE = ("at", "drift", "kind", "trial", "seed")


def _event_line(event: Event) -> str:
    shown = ((name, getattr(event, name)) for name in event.__dataclass_fields__ if name not in _ELSEWHERE)
    words = (f"{name} {cut(number(value))}" for name, value in shown if value not in (None, "", 0, 0.0))
    return ", ".join(words)


def compare_trials(trace: Trace, trials: Sequence[TrialRecord]) -> str:
    names = list(dict.fromkeys(name for trial in trials for name in trial.config))
    over = is_over(trace.history)
    rows = [("state", *(state_words(trial.state, over) for trial in trials))]
    rows.append(("step", *(str(trial.step) for trial in trials)))
    rows.append(("recommended", *(_recommended(trace, trial) for trial in trials)))
    rows += [(name, *(number(trial.config.get(name, "-")) for trial in trials)) for name in names]
    marked = [(*row, "" if len({str(cell) for cell in row[1:]}) == 1 else "differs") for row in rows]
    content = Table(["", *(f"trial {trial.index}" for trial in trials), ""], marked)
    source = _curve(trace.name, [trial.index for trial in trials])
    return _page(
        "compare.html", f"{trace.name}: compare", trace.name, content=content, source=source, label="curves"
    )  # fmt: skip


def _recommended(trace: Trace, trial: TrialRecord) -> str:
    found = trial.recommended
    return "-" if found is None else f"{number(trace.history.sign * found.loss)} at step {found.step}"


def compare_studies(studies: Sequence[tuple[Trace, Sequence[WorkerRecord]]]) -> str:
    traces = [trace for trace, _ in studies]
    bests = [trace.best() for trace in traces]
    rows = [
        ("state", *(brief_state(trace.history, workers) for trace, workers in studies)),
        ("method", *(method_name(trace.history.opened.method) for trace in traces)),
        ("best", *("-" if best is None else number(best.value) for best in bests)),
        ("configuration", *("-" if best is None else settings(best.config) for best in bests)),
        ("trials", *(len(trace.history.trials) for trace in traces)),
        *(
            (unit, *(amount(unit, trace.history.ledger.spent()[unit]) for trace in traces))
            for unit in ("steps", "seconds")
        ),
    ]
    content = Table(["", *(trace.name for trace in traces)], rows)
    source = "/regret" + query(study=[trace.name for trace in traces])
    return _page("compare.html", "Compare studies", content=content, source=source, label="regret")
