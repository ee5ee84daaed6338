"""``shoestring best``: the configuration that a study recommends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoestring.cli.arguments import json_option, study_arguments
from shoestring.cli.output import echo, print_json, table
from shoestring.core.front import FrontMember
from shoestring.errors import MethodError, ReadingError
from shoestring.study import Study
from shoestring.views.formatting import best_line, number, settings, short_path


@click.command(epilog="\b\nExample:\n  shoestring best shoestring.db --json")
@study_arguments
@json_option
def best(storage: str, name: str | None, as_json: bool) -> None:
    """Show the best configuration so far, its step, and the folder with the checkpoint of that step.

    With several objectives it is a table of the front: what no other reading beats in all of them.
    """
    study = Study.load(storage, name)
    if study.history.goals.several:
        _show_front(study, as_json)
        return
    found, folder = study.best, checkpoint(study)
    if as_json:
        print_json(best_record(study))
        return
    echo(best_line(found, study.history))
    for key, value in found.config.items():
        echo(f"  {key} = {value!r}")
    echo("no checkpoint was saved" if folder is None else f"checkpoint: {short_path(folder)}")


def _show_front(study: Study, as_json: bool) -> None:
    if as_json:
        print_json(best_record(study))
        return
    front, names = study.front, study.history.goals.names
    heads = ["trial", "step", *names, "configuration"]
    rows = [[str(m.trial), str(m.step), *(number(m.values[name]) for name in names), settings(m.config)] for m in front]
    echo("\n".join(table(heads, rows)))
    echo(f"trial {study.knee().trial} balances the objectives")


def checkpoint(study: Study, member: FrontMember | None = None) -> Path | None:
    """The folder with the checkpoint of the best, or of a member of the front, if its trial saved one."""
    try:
        return study.directory(best=True) if member is None else study.directory(member)
    except (ReadingError, MethodError):
        return None


def best_record(study: Study) -> dict[str, Any]:
    """Return the recommendation of a study as plain values: its best configuration, or with several objectives its
    front.
    """
    if study.history.goals.several:
        found = [(member, checkpoint(study, member)) for member in study.front]
        return {"front": [{**vars(m), "directory": None if folder is None else str(folder)} for m, folder in found]}
    folder = checkpoint(study)
    return {**vars(study.best), "directory": None if folder is None else str(folder)}
