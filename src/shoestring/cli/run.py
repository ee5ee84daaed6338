"""``run`` and ``resume``: the commands that spend a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoestring.cli.arguments import (
    DEFAULT_STORAGE,
    interruptible,
    json_option,
    load_module,
    pick,
    shell_arguments,
    study_arguments,
)
from shoestring.core.recommendation import DEFAULT_RULE, RULES
from shoestring.errors import ObjectiveError
from shoestring.study import Study

_quiet = click.option("--quiet", is_flag=True, help="Show no live display.")
_workers = click.option("--workers", default=1, show_default=True, help="How many processes run trials.")


@click.command(epilog="\b\nExample:\n  shoestring run train.py:train --budget '300 steps' --max-resource 27")
@click.argument("place", metavar="FILE:OBJECTIVE")
@click.option("--budget", required=True, help="The total to spend: '300 steps', '50 evaluations', '2h', or a mix.")
@click.option("--space", "space_name", default="space", show_default=True, help="The name of the space in FILE.")
@click.option("--method", default="auto", show_default=True, help="How to spend the budget, such as asha or tpe.")
@click.option(
    "--mode",
    type=click.Choice(["min", "max"]),
    default="min",
    show_default=True,
    help="Whether smaller (min) or larger (max) values are better.",
)
@click.option("--max-resource", type=int, help="The most steps a trial can have; needed if the objective yields.")
@_workers
@click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="The file that stores the study.")
@click.option("--name", help="The study's name; by default made of FILE and OBJECTIVE.")
@click.option(
    "--recommend",
    type=click.Choice(RULES),
    default=DEFAULT_RULE,
    show_default=True,
    help="A configuration counts by its best reading, its best running median of three, or its last reading.",
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same study.")
@_quiet
@json_option
def run(place: str, space_name: str, name: str | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Tune OBJECTIVE, a function in FILE, over the space that FILE defines.

    FILE is loaded up to its first call of tune. Running the same command again continues the
    study to the same total; with a larger --budget it continues to that.
    """
    from shoestring.tuning import tune

    module, wanted = load_module(place)
    objective, space = pick(module, wanted, "objective"), pick(module, space_name, "space")
    name = name or f"{Path(str(module.__file__)).stem}-{wanted}"
    with interruptible(f"shoestring resume {shell_arguments(options['storage'], name)}"):
        study = tune(objective, space, name=name, progress=False if quiet else None, **options)
    _report(study, options["storage"], as_json)


@click.command(epilog="\b\nExample:\n  shoestring resume shoestring.db digits --budget '600 steps'")
@study_arguments
@click.option("--budget", help="A new total, such as '600 steps', which includes what is spent already.")
@click.option("--objective", "place", metavar="FILE:OBJECTIVE", help="Where the objective is, if it has moved.")
@_workers
@_quiet
@json_option
def resume(
    storage: str, name: str | None, budget: str | None, place: str | None, workers: int, quiet: bool, as_json: bool
) -> None:
    """Continue a stored study to the end of its budget, or of a new one.

    The objective is loaded from where it was when the study started.
    """
    study = Study.load(storage, name)
    place = place or study.history.opened.objective
    if place is None:
        raise ObjectiveError(
            f"the study {study.name!r} does not say where its objective is; give --objective FILE:OBJECTIVE"
        )
    objective = pick(*load_module(place), "objective")
    _ = study.state  # an unknown method is refused before anything is written
    if budget is not None:
        study.budget = budget
    with interruptible(f"shoestring resume {shell_arguments(storage, study.name)}"):
        study.run(objective, workers=workers, progress=False if quiet else None)
    _report(study, storage, as_json)


def _report(study: Study, storage: str, as_json: bool) -> None:
    from shoestring.cli.inspection import print_json, show_status, summary

    if as_json:
        print_json(summary(study))
        return
    show_status(study)
    click.echo(f"\nSee the trials with: shoestring trials {shell_arguments(storage, study.name)}")
