"""``shoestring import``: studies of other libraries as studies of ours."""

from __future__ import annotations

import warnings
from typing import Any

import click

from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.status import show_status
from shoestring.study import Study


@click.group(
    name="import",
    epilog="\b\nExample:\n  shoestring import optuna sqlite:///optuna.db first --budget '300 steps'",
)
def import_() -> None:
    """Take over a study of another library: its space, its trials and their readings."""


@import_.command(
    epilog="\b\nExample:\n  shoestring import optuna sqlite:///optuna.db first --budget '300 steps'",
)
@click.argument("url")
@click.argument("name", required=False)
@click.option("--budget", required=True, help="What may be spent here: '300 steps', '50 evaluations', '2h', or a mix.")
@click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="The file that stores the new study.")
@click.option("--method", default="auto", show_default=True, help="The method that continues.")
def optuna(url: str, name: str | None, **options: Any) -> None:
    """Take over the Optuna study NAME from the storage at URL.

    NAME may be left out if there is only one. The trials of Optuna cost nothing here, and pruned ones
    can be continued. What could not be taken over is named.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study = Study.from_optuna(url, name, **options)
    for one in caught:
        click.echo(f"shoestring: {one.message}", err=True)
    show_status(study)
