"""From what is typed to what is meant: a storage, a study in it, an objective in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from shoestring.errors import ObjectiveError

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORAGE = "sqlite:///shoestring.db"

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script to read.")


def study_arguments(command: F) -> F:
    """How every command that looks at a stored study is told which: in order, or by options as in ``run``."""

    @wraps(command)
    def merged(storage: str, name: str | None, by_storage: str | None, by_name: str | None, **others: Any) -> Any:
        return command(storage=by_storage or storage, name=by_name or name, **others)

    for decorate in (
        click.option("--name", "by_name", metavar="NAME", help="The study; needed where there are several."),
        click.option("--storage", "by_storage", metavar="STORAGE", help="The file that holds the study."),
        click.argument("name", required=False),
        click.argument("storage", default=DEFAULT_STORAGE),
    ):
        merged = decorate(merged)
    return cast(F, merged)


def study_names(storage: str) -> list[str]:
    from shoestring.logs import open_log

    return open_log(storage, create=False).studies()


def split_place(place: str) -> tuple[Path, str]:
    """The two parts of FILE:OBJECTIVE."""
    file, colon, name = place.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise ObjectiveError(f"{place!r} names no objective; write FILE:OBJECTIVE, such as train.py:train")
    path = Path(file).expanduser()
    if not path.is_file():
        raise ObjectiveError(f"there is no file {file}; write FILE:OBJECTIVE, such as train.py:train")
    return path.resolve(), name


def load_names(path: Path) -> dict[str, Any]:
    """What a user's file defines."""
    from shoestring.executors.loading import load_file
    from shoestring.executors.stepper import error_line

    try:
        # As a script: what its trials pickled into their checkpoints can then be read again.
        module = load_file(path, "__main__")
    except (Exception, SystemExit) as error:
        if isinstance(error, ObjectiveError):
            raise
        raise ObjectiveError(f"{path.name} cannot be loaded: {error_line(error)}") from error
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def pick(names: dict[str, Any], wanted: str, what: str, path: Path) -> Any:
    """One of the things that a file defines."""
    if wanted not in names:
        import types

        own = [name for name, value in names.items() if not isinstance(value, types.ModuleType) and name[0] != "_"]
        raise ObjectiveError(
            f"{path.name} defines no {what} {wanted!r}; before its first call of tune it defines "
            f"{', '.join(own) or 'nothing'}"
        )
    return names[wanted]


def words_for_shell(storage: str, name: str) -> str:
    """The arguments that name a study, as one would type them."""
    import shlex

    return shlex.join([storage.removeprefix("sqlite:///"), name])


@contextmanager
def continuable(command: str) -> Iterator[None]:
    """Let Ctrl-C end the command in good order, and say which one goes on."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nInterrupted; nothing is lost. Continue with: {command}", err=True)
        raise click.exceptions.Exit(130) from None
