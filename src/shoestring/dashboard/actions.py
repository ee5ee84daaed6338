"""What a person can do on a study's page, if the dashboard allows it: each is an event in the log.

The forms hold a secret that only the pages have, so that no other site can send them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoestring.core.event_log import EventLog
from shoestring.core.history import History
from shoestring.dashboard.links import url
from shoestring.errors import ReadingError
from shoestring.study import Study
from shoestring.ui.html import text

Form = Mapping[str, str]


def _change_budget(study: Study, form: Form) -> None:
    study.budget = form.get("budget", "")


def _stop(study: Study, form: Form) -> None:
    study.stop(form.get("reason", "").strip() or "the study was stopped on the dashboard")


def _release(study: Study, form: Form) -> None:
    given = form.get("trial", "")
    if not given.isdecimal():
        raise ReadingError(f"the trial is {given!r:.80}; it must be the number of a running trial")
    study.release(int(given), "it was released on the dashboard")


def _enqueue(study: Study, form: Form) -> None:
    space = study.history.codec.space
    given = {name: form.get(f"config.{name}", "") for name in space}
    study.enqueue({name: _value(space[name], text) for name, text in given.items() if text})


def _value(parameter: Any, given: str) -> Any:
    """The value of a parameter as it was typed: one of its choices, else a number; the space checks it."""
    choices = (*getattr(parameter, "choices", ()), *getattr(parameter, "sequence", ()))
    if choices:
        return next((choice for choice in choices if str(choice) == given), given)
    try:
        return int(given)
    except ValueError:
        with suppress(ValueError):
            return float(given)
        return given


ACTIONS: dict[str, Callable[[Study, Form], None]] = {
    "budget": _change_budget,
    "stop": _stop,
    "release": _release,
    "enqueue": _enqueue,
}


def act(storage: str | Path | EventLog, name: str, action: str, form: Form) -> None:
    """Do one of the actions."""
    ACTIONS[action](Study.load(storage, name), form)


def _form(name: str, action: str, secret: str, fields: str, label: str) -> str:
    return (
        f'<form method="post" action="{text(url("study", name, "do", action))}">'
        f'<input type="hidden" name="secret" value="{text(secret)}">{fields} <button>{text(label)}</button></form>'
    )


def _field(parameter: str, value: object) -> str:
    name = text(f"config.{parameter}")
    return f'<label>{text(parameter)} <input name="{name}" value="{text(value)}" size="8"></label> '


def study_forms(history: History, name: str, secret: str) -> str:
    """The actions on a whole study."""
    budget = '<label>budget <input name="budget" placeholder="600 steps" required></label>'
    reason = '<label>reason <input name="reason" placeholder="it is good enough"></label>'
    best = history.best()
    start = {} if best is None else best.config
    config = "".join(_field(each, start.get(each, "")) for each in history.codec.space)
    return (
        "<details><summary>change the budget, stop the study, try a configuration next</summary>"
        + _form(name, "budget", secret, budget, "change the budget")
        + _form(name, "stop", secret, reason, "stop the study")
        + _form(name, "enqueue", secret, config, "try it next")
        + "</details>"
    )


def release_form(name: str, secret: str, trial: int) -> str:
    """Frees a running trial, so that another process takes it over at once."""
    return _form(name, "release", secret, f'<input type="hidden" name="trial" value="{trial}">', "release")
