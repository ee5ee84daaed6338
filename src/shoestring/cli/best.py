"""``shoestring best``: the configuration that a study recommends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoestring.cli.arguments import json_option, study_arguments
from shoestring.cli.output import echo, print_json
from shoestring.errors import ReadingError
from shoestring.study import Study
from shoestring.views.formatting import best_line, short_path


@click.command(epilog="\b\nExample:\n  shoestring best shoestring.db --json")
@study_arguments
@json_option
def best(storage: str, name: str | None, as_json: bool) -> None:
    """Show the best configuration so far, its step, and the folder with the checkpoint of that step."""
    study = Study.load(storage, name)
    found, folder = study.best, checkpoint(study)
    if as_json:
        print_json(best_record(study))
        return
    echo(best_line(found, study.history))
    for key, value in found.config.items():
        echo(f"  {key} = {value!r}")
    echo("no checkpoint was saved" if folder is None else f"checkpoint: {short_path(folder)}")


def checkpoint(study: Study) -> Path | None:
    """The folder with the checkpoint of the best, if its trial saved one."""
    try:
        return study.directory(best=True)
    except ReadingError:
        return None


def best_record(study: Study) -> dict[str, Any]:
    folder = checkpoint(study)
    return {**vars(study.best), "directory": None if folder is None else str(folder)}
