"""``run`` and ``resume``: the commands that spend a budget."""

from __future__ import annotations

from typing import Any

import click

from shoestring.cli.studies import (
    DEFAULT_STORAGE,
    continuable,
    json_option,
    load_names,
    pick,
    split_place,
    study_arguments,
    words_for_shell,
)
from shoestring.errors import ObjectiveError
from shoestring.study import Study

_quiet = click.option("--quiet", is_flag=True, help="Show no live display.")
_workers = click.option("--workers", default=1, show_default=True, help="How many processes run trials.")


@click.command(
    epilog="\b\nExample:\n  shoestring run train.py:train --budget '300 steps' --max-resource 27",
)
@click.argument("place", metavar="FILE:OBJECTIVE")
@click.option("--budget", required=True, help="The total allowance: '300 steps', '50 evaluations', '2h', or a mix.")
@click.option("--space", "space_name", default="space", show_default=True, help="The name of the space in FILE.")
@click.option("--method", default="auto", show_default=True, help="How to spend the budget, such as asha or tpe.")
@click.option("--mode", type=click.Choice(["min", "max"]), default="min", show_default=True, help="Which end is good.")
@click.option("--max-resource", type=int, help="The most steps a trial can have; needed if the objective yields.")
@_workers
@click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="Where the study is written down.")
@click.option("--name", help="The study's name; by default the file's and the objective's.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same study.")
@_quiet
@json_option
def run(place: str, space_name: str, workers: int, quiet: bool, as_json: bool, **options: Any) -> None:
    """Tune OBJECTIVE, a function in FILE, over the space that FILE defines.

    FILE is loaded up to its first call of tune. Running the same command again continues the
    study to the same total; with a larger --budget it goes on to that.
    """
    from shoestring.tuning import tune

    path, wanted = split_place(place)
    names = load_names(path)
    objective, space = pick(names, wanted, "objective", path), pick(names, space_name, "space", path)
    name = options.pop("name") or f"{path.stem}-{wanted}"
    with continuable(_again(options["storage"], name)):
        study = tune(objective, space, name=name, workers=workers, progress=False if quiet else None, **options)
    _conclude(study, options["storage"], as_json)


@click.command(epilog="\b\nExample:\n  shoestring resume shoestring.db digits --budget '600 steps'")
@study_arguments
@click.option("--budget", help="A new total, such as '600 steps'; what is spent already counts.")
@click.option("--objective", "place", metavar="FILE:OBJECTIVE", help="Where the objective is, if it has moved.")
@_workers
@_quiet
@json_option
def resume(
    storage: str, name: str | None, budget: str | None, place: str | None, workers: int, quiet: bool, as_json: bool
) -> None:
    """Continue a stored study to the end of its budget, or of a new one.

    The objective is found where it was when the study began.
    """
    study = Study.load(storage, name)
    place = place or study.history.opened.objective
    if place is None:
        raise ObjectiveError(
            f"the study {study.name!r} does not say where its objective is; give --objective FILE:OBJECTIVE"
        )
    path, wanted = split_place(place)
    objective = pick(load_names(path), wanted, "objective", path)
    if budget is not None:
        study.budget = budget
    with continuable(_again(storage, study.name)):
        study.run(objective, workers=workers, progress=False if quiet else None)
    _conclude(study, storage, as_json)


def _again(storage: str, name: str) -> str:
    return f"shoestring resume {words_for_shell(storage, name)}"


def _conclude(study: Study, storage: str, as_json: bool) -> None:
    from shoestring.cli.inspecting import print_json, show_status, summary

    if as_json:
        print_json(summary(study))
        return
    show_status(study)
    click.echo(f"\nLook closer with: shoestring trials {words_for_shell(storage, study.name)}")
