"""``shoestring past``: what a new study would take from past ones, and why, before anything is spent."""

from __future__ import annotations

from typing import Any

import click

from shoestring.cli.arguments import DEFAULT_STORAGE, json_option
from shoestring.cli.output import echo, print_json, table
from shoestring.cli.space_options import guess_for, guess_option, param_option, read_space
from shoestring.errors import StudyNotFound
from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.past.opening import Asked, PastStudy, PlanMade
from shoestring.past.planning import plan_if_new
from shoestring.spaces.definition import as_space
from shoestring.study import Study
from shoestring.views.formatting import settings


@click.command(
    epilog="\b\nExample:\n"
    "  shoestring past team.db --space train.py:space\n"
    "  shoestring past team.db --param lr=log:1e-4:1 --param momentum=0.0:0.99"
)
@click.argument("storages", metavar="STORAGE...", nargs=-1)
@param_option
@click.option("--space", "place", metavar="FILE:SPACE", help="The space of the new study, instead of --param.")
@guess_option
@click.option("--seed", default=0, show_default=True, help="The seed of the new study, for draws near a guess.")
@json_option
def past(
    storages: tuple[str, ...],
    parameters: tuple[str, ...],
    place: str | None,
    guess: dict[str, str] | None,
    seed: int,
    as_json: bool,
) -> None:
    """Show which studies of STORAGE a new study would learn from with --past, and what it would try.

    Nothing is spent and nothing is written. Without a space, it is that of the newest study.
    """
    given = list(storages) or [DEFAULT_STORAGE]
    space = as_space(read_space(parameters, place)) if parameters or place else _newest_space(given[-1])
    made = plan_if_new(Asked(space, given, guess_for(space, guess), seed, MemoryLog(), ""))
    if as_json:
        print_json({"note": made.note, "studies": list(map(_study, made.studies)), "plan": list(made.entries)})
    else:
        _show(made)


def _newest_space(storage: str) -> Any:
    names = open_log(storage, create=False).studies()
    if not names:
        raise StudyNotFound(f"there is no study in {storage}")
    return Study.load(storage, names[-1]).history.codec.space


def _study(study: PastStudy) -> dict[str, Any]:
    return {
        "name": study.name,
        "digest": study.digest,
        "trials": study.trials,
        "outside": study.outside,
        "used": not study.problem,
        "why_not": study.problem,
    }


def _show(made: PlanMade) -> None:
    rows = [
        [one.name, one.digest or "-", str(one.trials), str(one.outside), one.problem or "yes"] for one in made.studies
    ]
    for line in table(["study", "digest", "trials", "outside of the space", "used"], rows) if rows else ():
        echo(line)
    echo(f"\n{made.note}" if made.note else "no study was found")
    for number, entry in enumerate(made.entries, 1):
        near = ", drawn near it" if entry["sd"] else ""
        echo(f"{number:3}. {settings(entry['config'])}  (from {entry['origin']}{near})")
