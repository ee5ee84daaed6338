"""``shoestring verify``: the decisions of a study, replayed."""

from __future__ import annotations

import click

from shoestring.cli.arguments import json_option, load_module, study_arguments
from shoestring.cli.output import echo, print_json
from shoestring.study import Study


@click.command(epilog="\b\nExample:\n  shoestring verify shoestring.db digits")
@study_arguments
@click.option("--objective", "place", metavar="FILE:OBJECTIVE", help="A file that registers a method of your own.")
@json_option
@click.pass_context
def verify(ctx: click.Context, storage: str, name: str | None, place: str | None, as_json: bool) -> None:
    """Replay the log and check every decision of the method.

    The exit code is 1 if a decision differs; the first such event is named.
    """
    if place is not None:
        load_module(place)
    study = Study.load(storage, name)
    found = study.verify()
    if as_json:
        print_json({"ok": found.ok, **vars(found)})
    elif found.ok:
        echo(f"{study.name}: all {found.checked} grants are what the method decides")
    else:
        echo(f"{study.name}: event {found.position} (granted) differs: {found.difference}")
    ctx.exit(0 if found.ok else 1)
