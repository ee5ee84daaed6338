"""The pages as HTML. Every text goes through ``ui.html``, which escapes it; scripts and styles are separate files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from shoestring.core.events import Event
from shoestring.core.history import History, TrialRecord
from shoestring.core.leases import WorkerRecord
from shoestring.dashboard.actions import release_form, study_forms
from shoestring.dashboard.links import at_width, link, query, url
from shoestring.dashboard.reader import Overview, shown_state
from shoestring.plots.trace import Trace
from shoestring.ui.formatting import (
    amount,
    best_line,
    cut,
    duration,
    method_name,
    number,
    settings,
    states,
)
from shoestring.ui.html import account_table, failure_table, meters, table, text, turning_table

# What is drawn on a study's page at once, and what is computed only when it is opened.
PLOTS = ("curves", "history", "burn_down", "shares")
ON_DEMAND = ("workers", "rungs", "forecast", "importance", "parallel", "slices", "contour", "pareto")
# What says nothing about objectives that return one number: the first is left out, the others are not drawn at once.
_OF_STEPS, _RATHER_OF_STEPS = ("curves", "rungs", "forecast"), ("shares",)
# The shares of the budget after which a forecast can be shown; the first is what is shown at first.
MOMENTS = (0.5, 0.1, 0.25, 0.75, 0.9)
# Stamps before this are seconds of a virtual clock.
_EARLIEST = 1e9
# The widths of pictures in pixels.
NARROW, WIDTH = 360, 640
# Tables that are loaded when they are opened.
PARTS: dict[str, tuple[str, Callable[[Trace], str]]] = {
    "budget": ("budget: what it was spent on", account_table),
    "failures": ("failures", failure_table),
    "turning": ("what the method said at turning points", turning_table),
}
# Rows of running trials and workers, events of a trial, and characters of a message.
_MOST_ROWS, _MOST_EVENTS, _LONGEST = 20, 500, 20_000


def page(title: str, body: str, path: Sequence[tuple[str, str]] = (), **data: str) -> str:
    """A whole page; ``path`` leads to it (address and label), and ``data`` is for the script."""
    given = "".join(f' data-{name}="{text(value)}"' for name, value in data.items())
    way = " › ".join(link(target, label) for target, label in (("/", "all studies"), *path))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{text(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/static/style.css">'
        f'<script type="module" src="/static/dashboard.js"></script></head>\n<body class="shoestring"{given}>'
        f'<nav>{way} <span id="offline" role="status"></span></nav><h1>{text(title)}</h1>{body}</body></html>\n'
    )


def list_body(studies: Sequence[Overview]) -> str:
    """The table of all studies, and those that cannot be read with the reason."""
    rows = []
    for study in (study for study in studies if not study.problem):
        label = f"compare {study.name}"
        box = f'<input type="checkbox" class="pick" value="{text(study.name)}" aria-label="{text(label)}">'
        cells = (study.state, study.method, study.spent, study.trials, study.best)
        shown = "".join(f"<td>{text(cell)}</td>" for cell in cells)
        rows.append(f"<tr><td>{box}</td><td>{link(url('study', study.name), study.name)}</td>{shown}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("", "study", "state", "method", "spent", "trials", "best"))
    problems = [(study.name, study.problem) for study in studies if study.problem]
    broken = table(["study", "cannot be read"], problems) if problems else ""
    none = "" if studies else "<p>There is no study in this storage yet.</p>"
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{none}{broken}"


def list_version(studies: Sequence[Overview]) -> str:
    """What changes when the list has something new to show."""
    return blake2b(repr(studies).encode("utf-8", "replace"), digest_size=8).hexdigest()


def list_page(studies: Sequence[Overview]) -> str:
    button = '<p><button id="compare" data-target="/compare" data-name="study">compare those marked</button></p>'
    body = f'<div id="live" data-source="/fragment">{list_body(studies)}</div>{button}'
    return page("Studies", body, stream="/events", version=list_version(studies))


def study_head(trace: Trace, workers: Sequence[WorkerRecord], secret: str | None) -> str:
    """The part of a study's page that changes while it runs."""
    history = trace.history
    best = history.best()
    state = shown_state(history, workers)
    waiting = f", {len(history.queue)} enqueued" if history.queue else ""
    lines = [
        f"<p>{text(state)}; {len(history.trials)} trials: {text(states(history.trials))}{waiting}</p>",
        meters(trace),
    ]
    if best is None:
        lines.append(f"<p>{text(cut(trace.lack()))}</p>")
    else:
        found = link(url("study", trace.name, "trial", best.trial), best_line(best, history))
        lines.append(f"<p>best: <b>{found}</b><br><code>{text(settings(best.config))}</code></p>")
    return "".join([*lines, worker_table(workers), running_table(trace, secret)])


def worker_table(workers: Sequence[WorkerRecord]) -> str:
    """Who runs trials, or could: the last sign of life of each lease, and the trials that it holds."""
    rows = [
        (
            worker.name or "nobody",
            worker.state if worker.name else "released",
            "-" if worker.seconds is None else f"{duration(max(worker.seconds, 0.0))} ago",
            ", ".join(map(str, worker.trials[:20])) + ("…" if len(worker.trials) > 20 else ""),
        )
        for worker in workers[:_MOST_ROWS]
    ]
    more = f"<p>and {len(workers) - _MOST_ROWS} more</p>" if len(workers) > _MOST_ROWS else ""
    return table(["worker", "state", "last sign of life", "runs trials"], rows) + more if rows else ""


def running_table(trace: Trace, secret: str | None) -> str:
    history = trace.history
    if not history.running:
        return "<p>Nothing is running.</p>"
    rows = []
    for trial in islice(history.running.values(), _MOST_ROWS):
        last = _when(trial.reported_at + history.drift)
        cells = (f"{trial.step} of {trial.until}", last, trial.worker or "nobody")
        shown = "".join(f"<td>{text(cell)}</td>" for cell in cells)
        form = "" if secret is None else f"<td>{release_form(trace.name, secret, trial.index)}</td>"
        place = link(url("study", trace.name, "trial", trial.index), trial.index)
        rows.append(f"<tr><td>{place}</td>{shown}{form}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("trial", "step", "last event", "worker"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def study_page(trace: Trace, workers: Sequence[WorkerRecord], version: str, secret: str | None) -> str:
    name = trace.name
    action = "" if secret is None else study_forms(trace.history, name, secret)
    at_once, later = _plots_of(trace.history)
    pictures = "".join(picture(url("study", name, "plot", kind), kind, version) for kind in at_once)
    lazy = "".join(_lazy("plot", url("study", name, "plot", kind), kind) for kind in later)
    parts = "".join(_lazy("part", url("study", name, "part", part), label) for part, (label, _) in PARTS.items())
    body = (
        f'<div id="live" data-source="{text(url("study", name, "fragment"))}">'
        f"{study_head(trace, workers, secret)}</div>{action}"
        f'<div class="plots">{pictures}</div><h2>More</h2><div class="boxes">{lazy}{parts}</div>'
        '<h2>Trials</h2><p><input id="search" type="search" placeholder="search, or rate<0.1, state=failed"> '
        f'<span id="count"></span> <button id="compare" data-target="{text(url("study", name, "compare"))}" '
        'data-name="trial">compare those marked</button></p>'
        f'<div id="trials" tabindex="0" data-source="{text(url("study", name, "trials.json"))}" '
        f'data-trial="{text(url("study", name, "trial"))}"></div>'
    )
    return page(name, body, stream=url("study", name, "events"), version=version)


def _plots_of(history: History) -> tuple[list[str], list[str]]:
    """The plots to draw at once, and those to draw when they are opened."""
    if (history.max_resource or 1) > 1:
        return list(PLOTS), list(ON_DEMAND)
    at_once = [kind for kind in PLOTS if kind not in (*_OF_STEPS, *_RATHER_OF_STEPS)]
    return at_once, [*(kind for kind in ON_DEMAND if kind not in _OF_STEPS), *_RATHER_OF_STEPS]


def _lazy(kind: str, source: str, label: str) -> str:
    """What is loaded when it is opened."""
    choice = _moments() if label == "forecast" else ""
    return f'<details class="{kind}" data-source="{text(source)}"><summary>{text(label)}</summary>{choice}</details>'


def _moments() -> str:
    options = "".join(
        f'<option value="{share}"{" selected" if share == MOMENTS[0] else ""}>{share:.0%}</option>'
        for share in sorted(MOMENTS)
    )
    return f'<p><label>after <select class="moment">{options}</select> of the budget</label></p>'


def _when(at: float) -> str:
    """A moment as a date and a time, or as seconds of a virtual clock."""
    return f"{at:.4g} s" if at < _EARLIEST else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def picture(source: str, label: str, version: str = "") -> str:
    """An image of the server, drawn for the width of the window; with a version it is live."""
    live = f' class="live" data-source="{text(source)}"' if version else ""
    sizes = {width: text(at_width(source, width, version)) for width in (NARROW, WIDTH)}
    return (
        f'<picture{live}><source media="(max-width: 560px)" srcset="{sizes[NARROW]}">'
        f'<img src="{sizes[WIDTH]}" alt="{text(label)}" width="{WIDTH}"></picture>'
    )


def trial_page(trace: Trace, trial: TrialRecord, events: Sequence[Event], files: Sequence[Path], version: str) -> str:
    name, source = trace.name, url("study", trace.name, "trial", trial.index, "fragment")
    body = (
        f"{picture(_curve(name, [trial.index]), 'curve', version)}"
        f'<div id="live" data-source="{text(source)}">{trial_body(trace, trial, events, files, version)}</div>'
    )
    title, stream = f"{name}: trial {trial.index}", url("study", name, "events")
    return page(title, body, [(url("study", name), name)], stream=stream, version=version)


def trial_body(trace: Trace, trial: TrialRecord, events: Sequence[Event], files: Sequence[Path], version: str) -> str:
    """The part of a trial's page that changes while it runs."""
    name = trace.name
    reasons = [(f"{s.start + 1} to {s.goal}", s.reason, s.how, s.worker) for s in trace.spans if s.trial == trial.index]
    own = [
        (position, _when(event.at + event.drift), event.kind, _event_line(event))
        for position, event in enumerate(events)
        if _is_of(event, trial)
    ]
    place = url("study", name, "trial", trial.index, "file")
    listed = "".join(f"<li>{link(f'{place}/{quote(path.as_posix())}', path.as_posix())}</li>" for path in files)
    return (
        f"<p>{text(trial.state)} at step {trial.step} of {trial.until}, configuration {trial.arm}, "
        f"{_told(trace, trial)}</p>"
        + (f"<pre>{text(cut(trial.message, _LONGEST))}</pre>" if trial.message else "")
        + table(["parameter", "value"], trial.config.items())
        + "<h2>Grants</h2>"
        + table(["steps", "reason", "ended", "worker"], reasons)
        + f"<h2>Files</h2><ul>{listed or '<li>none</li>'}</ul><h2>Log</h2>"
        + (f"<p>the last {_MOST_EVENTS} of {len(own)} events</p>" if len(own) > _MOST_EVENTS else "")
        + table(["event", "time", "kind", "content"], own[-_MOST_EVENTS:])
    )


def _told(trace: Trace, trial: TrialRecord) -> str:
    return "no reading yet" if trial.recommended is None else f"recommended: {text(_recommended(trace, trial))}"


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
    rows = [("state", *(trial.state for trial in trials)), ("step", *(trial.step for trial in trials))]
    rows.append(("recommended", *(_recommended(trace, trial) for trial in trials)))
    rows += [(name, *(number(trial.config.get(name, "-")) for trial in trials)) for name in names]
    marked = [(*row, "" if len({str(cell) for cell in row[1:]}) == 1 else "differs") for row in rows]
    heads = ["", *(f"trial {trial.index}" for trial in trials), ""]
    curves = picture(_curve(trace.name, [trial.index for trial in trials]), "curves")
    body = f'<div class="wide">{table(heads, marked)}</div>{curves}'
    return page(f"{trace.name}: compare", body, [(url("study", trace.name), trace.name)])


def _recommended(trace: Trace, trial: TrialRecord) -> str:
    found = trial.recommended
    return "-" if found is None else f"{number(trace.history.sign * found.loss)} at step {found.step}"


def compare_studies(studies: Sequence[tuple[Trace, Sequence[WorkerRecord]]]) -> str:
    traces = [trace for trace, _ in studies]
    bests = [trace.history.best() for trace in traces]
    rows = [
        ("state", *(shown_state(trace.history, workers) for trace, workers in studies)),
        ("method", *(method_name(trace.history.opened.method) for trace in traces)),
        ("best", *("-" if best is None else number(best.value) for best in bests)),
        ("configuration", *("-" if best is None else settings(best.config) for best in bests)),
        ("trials", *(len(trace.history.trials) for trace in traces)),
        *(
            (unit, *(amount(unit, trace.history.ledger.spent()[unit]) for trace in traces))
            for unit in ("steps", "seconds")
        ),
    ]
    regret = picture("/regret" + query(study=[trace.name for trace in traces]), "regret")
    heads = ["", *(trace.name for trace in traces)]
    return page("Compare studies", f'<div class="wide">{table(heads, rows)}</div>{regret}')
