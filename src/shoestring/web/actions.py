"""What a person can do on a study's page, if the dashboard allows it: each is an event in the log.

The forms hold a secret that only the pages have, so that no other site can send them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoestring.core.event_log import EventLog
from shoestring.errors import ReadingError
from shoestring.study import Study

Form = Mapping[str, str]


def _change_budget(study: Study, form: Form) -> None:
    study.budget = form.get("budget", "")


def _stop(study: Study, form: Form) -> None:
    study.stop(form.get("reason", "").strip() or "the study was stopped on the dashboard")


def _release(study: Study, form: Form) -> None:
    given = form.get("trial", "")
    if not (given.isascii() and given.isdecimal() and len(given) < 16):
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
