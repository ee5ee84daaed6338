"""The page of a trial, and comparisons of trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoestring.core.events import Event
from shoestring.core.history import TrialRecord
from shoestring.core.planned import origin_of
from shoestring.views.formatting import cut, duration, moment, number
from shoestring.views.states import is_over, state_words
from shoestring.views.tables import Table
from shoestring.views.trace import Trace
from shoestring.web.artefacts import Artefact
from shoestring.web.links import query, url
from shoestring.web.markdown import markdown
from shoestring.web.pages import page
from shoestring.web.rendering import render
from shoestring.web.study_page import copies_of

# Events of a trial, and characters of a message.
_MOST_EVENTS, _LONGEST = 500, 20_000
# Of an event, what its row or its page shows anyway.
_ELSEWHERE = ("at", "drift", "kind", "trial", "seed")


@dataclass(frozen=True)
class Kept:
    """The files of a trial, and those among them that are shown."""

    files: Sequence[Path]
    shown: Sequence[Artefact]


def trial_page(
    trace: Trace, trial: TrialRecord, events: Sequence[Event], kept: Kept, version: str, secret: str | None
) -> str:
    name = trace.name
    return page(
        "trial.html", f"Trial {trial.index}", name, url("study", name, "events"), version,
        curve=_curve(name, [trial.index]), last=len(trace.history.trials) - 1,
        secret=secret, **_trial(trace, trial, events, kept),
    )  # fmt: skip


def trial_body(trace: Trace, trial: TrialRecord, events: Sequence[Event], kept: Kept, version: str) -> str:
    """The part of a trial's page that changes while it runs."""
    return render("trial_body.html", study=trace.name, **_trial(trace, trial, events, kept))


def _trial(trace: Trace, trial: TrialRecord, events: Sequence[Event], kept: Kept) -> dict[str, Any]:
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
        "told": "no reading yet" if trial.recommended is None else f"recommended: {_recommended_step(trace, trial)}",
        "took": duration(trial.seconds),
        "message": cut(trial.message, _LONGEST),
        "config": Table(["parameter", "value"], list(trial.config.items())),
        "copies": copies_of(trial.config),
        "metrics": Table(["metric", "value"], [(name, _plain(value)) for name, value in trial.metrics.items()]),
        "grants": Table(["steps", "reason", "ended", "worker"], grants),
        "files": kept.files,
        "artefacts": kept.shown,
        "image_url": url("study", trace.name, "trial", trial.index, "image"),
        "notes": [markdown(note) for note in trial.notes],
        "attributes": Table(
            ["attribute", "value"], [(name, _plain(value)) for name, value in trial.attributes.items()]
        ),
        "file_url": url("study", trace.name, "trial", trial.index, "file"),
        "events": len(own),
        "log": Table(["event", "time", "kind", "content"], log),
    }


def _plain(value: object) -> str:
    """A metric or an attribute, which can be any JSON."""
    return number(value) if isinstance(value, (str, int, float)) else cut(json.dumps(value, default=str))


def _curve(name: str, trials: Sequence[int]) -> str:
    return url("study", name, "curves") + query(trial=trials)


def _is_of(event: Event, trial: TrialRecord) -> bool:
    return getattr(event, "trial", None) == trial.index


def _event_line(event: Event) -> str:
    shown = ((name, getattr(event, name)) for name in event.__dataclass_fields__ if name not in _ELSEWHERE)
    words = (f"{name} {cut(number(value))}" for name, value in shown if value not in (None, "", 0, 0.0))
    return ", ".join(words)


def compare_trials(trace: Trace, trials: Sequence[TrialRecord]) -> str:
    """Sort the rows: first those that differ between trials, then the equal ones."""
    over = is_over(trace.history)
    names = list(dict.fromkeys(name for trial in trials for name in trial.config))
    metrics = list(dict.fromkeys(name for trial in trials for name in trial.metrics))
    rows: list[tuple[str, ...]] = [("recommended", *(_recommended_step(trace, trial) for trial in trials))]
    rows += [(name, *(number(trial.config.get(name, "-")) for trial in trials)) for name in names]
    rows += [(name, *(_plain(trial.metrics.get(name, "-")) for trial in trials)) for name in metrics]
    attributes = list(dict.fromkeys(name for trial in trials for name in trial.attributes))
    rows += [(name, *(_plain(trial.attributes.get(name, "-")) for trial in trials)) for name in attributes]
    rows.append(("state", *(state_words(trial.state, over) for trial in trials)))
    rows.append(("step", *(str(trial.step) for trial in trials)))
    rows.append(("ran for", *(duration(trial.seconds) for trial in trials)))
    same = [row for row in rows if len(set(row[1:])) == 1]
    return page(
        "compare.html", "Compare trials", trace.name, trials=[trial.index for trial in trials],
        differ=[row for row in rows if row not in same], same=same,
        source=_curve(trace.name, [trial.index for trial in trials]),
    )  # fmt: skip


def _recommended_step(trace: Trace, trial: TrialRecord) -> str:
    found = trial.recommended
    return "-" if found is None else f"{number(trace.history.sign * found.loss)} at step {found.step}"
