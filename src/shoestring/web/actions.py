"""Actions on a study's page, if the dashboard allows them: an event in the log, or refused with a reason.

Renaming and deleting change the whole log at once, which no event can say.

The forms hold a secret that only the pages have, so that no other site can send them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoestring.core.event_log import EventLog
from shoestring.core.remarks import ARCHIVED
from shoestring.errors import MethodError, ReadingError
from shoestring.study import Study
from shoestring.web.links import url

Form = Mapping[str, str]


def _change_budget(study: Study, form: Form) -> None:
    study.budget = form.get("budget", "")


def _stop(study: Study, form: Form) -> None:
    study.stop(form.get("reason", "").strip() or "the study was stopped on the dashboard")


def _release(study: Study, form: Form) -> None:
    study.release(_trial_number(form.get("trial", "")), "it was released on the dashboard")


def _trial_number(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) < 16):
        raise ReadingError(f"the trial is {given!r:.80}; it must be the number of a trial")
    return int(given)


def _enqueue(study: Study, form: Form) -> None:
    space = study.history.codec.space
    given = {name: form.get(f"config.{name}", "") for name in space}
    study.enqueue({name: _value(space[name], text) for name, text in given.items() if text})


def _value(parameter: Any, given: str) -> Any:
    """Read the typed value of a parameter: one of its choices, else a number; the space checks it."""
    choices = (*getattr(parameter, "choices", ()), *getattr(parameter, "sequence", ()))
    if choices:
        return next((choice for choice in choices if str(choice) == given), given)
    try:
        return int(given)
    except ValueError:
        with suppress(ValueError):
            return float(given)
        return given


def _note(study: Study, form: Form) -> None:
    trial = form.get("trial", "")
    if trial:
        study.annotate(_trial_number(trial), form.get("note", "").replace("\r\n", "\n"))
    else:
        study.note = form.get("note", "").replace("\r\n", "\n")


def _tag(study: Study, form: Form) -> None:
    own = [tag.strip() for tag in form.get("tags", "").split(",")]
    study.tags = [*(tag for tag in own if tag), *(tag for tag in study.tags if tag == ARCHIVED)]


def _archive(study: Study, form: Form) -> None:
    study.archive(form.get("undo", "") == "")


def _rename(study: Study, form: Form) -> None:
    study.rename(form.get("name", "").strip())


def _delete(study: Study, form: Form) -> None:
    if form.get("name", "") != study.name:
        raise MethodError(f"nothing was deleted: to delete this study for good, type its name, {study.name!r}")
    study.delete()


ACTIONS: dict[str, Callable[[Study, Form], None]] = {
    "note": _note,
    "tags": _tag,
    "archive": _archive,
    "rename": _rename,
    "delete": _delete,
    "budget": _change_budget,
    "stop": _stop,
    "release": _release,
    "enqueue": _enqueue,
}


def act(storage: str | Path | EventLog, name: str, action: str, form: Form) -> str:
    """Do one of the actions, and return the address of the page that shows what came of it."""
    study = Study.load(storage, name)
    ACTIONS[action](study, form)
    trial = form.get("trial", "") if action == "note" else ""
    if action == "delete":
        return "/"
    return url("study", study.name, *(("trial", _trial_number(trial)) if trial else ()))
