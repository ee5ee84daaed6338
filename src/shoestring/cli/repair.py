"""``repair``: check a damaged storage, and keep the part that can be read."""

from __future__ import annotations

from pathlib import Path

import click

from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.output import echo
from shoestring.errors import StorageError
from shoestring.logs.addresses import is_postgres
from shoestring.logs.repair import Examined, cut, examine


@click.command(epilog="\b\nExample:\n  shoestring repair shoestring.db --cut")
@click.argument("storage", default=DEFAULT_STORAGE)
@click.option("--cut", "cutting", is_flag=True, help="Keep only the good events; the damaged file is kept next to it.")
@click.pass_context
def repair(ctx: click.Context, storage: str, cutting: bool) -> None:
    """Check a storage, and say up to which event each study is good.

    Without --cut nothing is written, and the exit code is 1 if there is damage. Stop the processes
    that use the storage before you cut it; resume then continues from the last good event.
    """
    if is_postgres(storage):
        raise StorageError("repair is for SQLite files; restore a PostgreSQL database from a copy")
    path = Path(storage.removeprefix("sqlite:///")).expanduser().absolute()
    studies = examine(path)
    for study in studies:
        echo(_line(study))
    if not any(study.problem for study in studies):
        echo("nothing is damaged")
    elif cutting:
        echo(f"{path} holds the good events now; the damaged file is {cut(path, studies)}")
    else:
        echo(f"to continue from the last good events: shoestring repair {path} --cut")
        ctx.exit(1)


def _line(study: Examined) -> str:
    if not study.problem:
        return f"{study.name!r}: all {len(study.rows)} events are good"
    if study.last is None:
        return f"{study.name!r}: no event is good, it would be dropped: {study.problem}"
    return f"{study.name!r}: good up to event {len(study.rows) - 1} ({study.last.kind}); then {study.problem}"
