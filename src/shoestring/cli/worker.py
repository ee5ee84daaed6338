"""``worker``: one of any number of processes, on any number of hosts, that work on a stored study."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import click

from shoestring.cli.arguments import interruptible, limit_options, load_module, pick
from shoestring.cli.output import echo
from shoestring.cli.stored_command import confirm_command, has_command, yes_option
from shoestring.core.event_log import check_name
from shoestring.core.workers import ticks
from shoestring.errors import ObjectiveError, StudyNotFound
from shoestring.logs import open_log
from shoestring.logs.addresses import hide_password
from shoestring.running.retention import DEFAULT_KEEP
from shoestring.study import Study
from shoestring.views.formatting import best_line, shell_arguments

# Seconds between two looks for a study that is not there yet.
_LOOK = 1.0


@click.command(
    epilog="\b\nExample:\n  shoestring worker postgresql://ada@db/tuning digits train.py:train --files /shared"
)
@click.argument("storage")
@click.argument("name", metavar="STUDY")
@click.argument("place", metavar="[FILE:OBJECTIVE]", required=False)
@click.option(
    "--slots", type=click.IntRange(min=1), default=1, show_default=True, help="How many trials run here at once."
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for checkpoints, the same on all hosts; PostgreSQL only. By default DATABASE.files here.",
)
@click.option(
    "--wait", type=click.FloatRange(min=0), default=0, metavar="SECONDS", help="Wait this long for the study to exist."
)
@limit_options
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=DEFAULT_KEEP,
    show_default=True,
    help="How many ended trials keep files.",
)
@click.option("--quiet", is_flag=True, help="Show no live display.")
@yes_option
def worker(
    storage: str,
    name: str,
    place: str | None,
    slots: int,
    files: Path | None,
    wait: float,
    quiet: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Work on a stored STUDY until its budget is spent, together with all other workers.

    Start it on as many hosts as you like, at any time. Every worker decides and runs trials; the
    budget is one for all. A lost worker is replaced: its trials continue elsewhere, from their
    last checkpoint if all hosts have the same --files, and else from the start, which is charged.

    The objective is left out if the study is one of a command: that is in the storage.
    """
    objective: Any = pick(*load_module(place), "objective") if place else None
    study = _join(storage, name, files, wait)
    if objective is None:
        if not has_command(study):
            raise ObjectiveError(f"the study {name!r} is not one of a command: give FILE:OBJECTIVE")
        objective = confirm_command(study, yes)
    if study.history.stopped:
        again = f"shoestring resume {shell_arguments(storage, name)}"
        echo(f"{name} was stopped: {study.history.stopped}. Let it go on with: {again}", err=True)
        return
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # as batch systems end a job
    again = f"shoestring worker {shell_arguments(storage, name)} {place or '--yes'}"
    with interruptible(again, lambda: study):
        study.run(objective, workers=slots, progress=False if quiet else None, **options)
    spent = ", ".join(f"{study.spent[unit]:g} {unit}" for unit in study.budget.limits())
    found = study.history.best()
    best = "no reading" if found is None else f"best {best_line(found, study.history)}"
    end = f"was stopped ({study.history.stopped})" if study.history.stopped else "is finished"
    echo(f"{name} {end}: {spent} spent, {best}")


def _join(storage: str, name: str, files: Path | None, wait: float) -> Study:
    """Load the study, as soon as it was created."""
    end = ticks() + wait
    log = open_log(storage, create=wait > 0, files=files)
    while log.find(check_name(name)) is None:
        if ticks() >= end:
            raise StudyNotFound(
                f"there is no study {name!r} in {hide_password(storage)}; a script with Study(...) or tune(...), or "
                "shoestring run, creates it. To start workers before that, give --wait SECONDS"
            )
        time.sleep(_LOOK)
    return Study.load(log, name)
