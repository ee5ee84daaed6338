"""``shoestring rename``, ``archive`` and ``delete``: what is done with a whole stored study."""

from __future__ import annotations

import click

from shoestring.cli.arguments import study_arguments
from shoestring.cli.output import echo
from shoestring.study import Study


@click.command(epilog="\b\nExample:\n  shoestring rename shoestring.db digits --to digits-2026")
@study_arguments
@click.option("--to", "new", required=True, metavar="NEW", help="The new name.")
def rename(storage: str, name: str | None, new: str) -> None:
    """Give a stored study another name, with its files. It is refused while a trial of it runs."""
    study = Study.load(storage, name)
    old = study.name
    study.rename(new)
    echo(f"{old} is called {new} now", err=True)


@click.command(epilog="\b\nExample:\n  shoestring archive shoestring.db digits")
@study_arguments
@click.option("--undo", is_flag=True, help="Show it in the lists again.")
def archive(storage: str, name: str | None, undo: bool) -> None:
    """Hide a stored study in the list of the dashboard: it gets the tag "archived". Nothing else changes."""
    study = Study.load(storage, name)
    study.archive(not undo)
    echo(f"{study.name} is {'listed again' if undo else 'archived'}", err=True)


@click.command(epilog="\b\nExample:\n  shoestring delete shoestring.db digits --yes")
@study_arguments
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(storage: str, name: str | None, yes: bool) -> None:
    """Delete a stored study, its events and its files, for good. It is refused while a trial of it runs."""
    study = Study.load(storage, name)
    count = len(study.history.trials)
    if not yes:
        click.confirm(f"Delete {study.name} with {count} trials and all of their files?", abort=True, err=True)
    study.delete()
    echo(f"{study.name} is deleted", err=True)
