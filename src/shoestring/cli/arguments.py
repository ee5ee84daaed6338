"""Code that the commands share: arguments that name a study or an objective, and the handling of Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import click

from shoestring.cli.output import echo
from shoestring.errors import ObjectiveError, StorageError
from shoestring.objectives.failures import error_line
from shoestring.objectives.loading import load_file
from shoestring.running.interruption import repeats_in_words
from shoestring.study import Study

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORAGE = "sqlite:///shoestring.db"

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script to read.")


def study_arguments(command: F) -> F:
    """The arguments that name a stored study: by position, or by the same options as in ``run``."""

    @wraps(command)
    def run_with_names(
        storage: str, name: str | None, by_storage: str | None, by_name: str | None, **others: Any
    ) -> Any:
        return command(storage=by_storage or storage, name=by_name or name, **others)

    for decorate in (
        click.option("--name", "by_name", metavar="NAME", help="The study; needed if the storage holds several."),
        click.option("--storage", "by_storage", metavar="STORAGE", help="The file that holds the study."),
        click.argument("name", required=False),
        click.argument("storage", default=DEFAULT_STORAGE),
    ):
        run_with_names = decorate(run_with_names)
    return cast(F, run_with_names)


def split_commas(_: click.Context, __: click.Parameter, given: str | None) -> list[str] | None:
    """The parts of an option such as ``--gpus 0,1``."""
    return None if given is None else [part.strip() for part in given.split(",")]


def limit_options(command: F) -> F:
    """The options of a run that say when a trial is given up and when the study stops early."""
    for decorate in (
        click.option(
            "--threads", type=click.IntRange(min=1), help="With how many threads each worker computes; else its share."
        ),
        click.option("--gpus", callback=split_commas, metavar="0,1", help="The GPUs that the workers share."),
        click.option("--patience", help="Stop if the best has not improved for this much: '50 steps', '1h'."),
        click.option("--target", type=float, help="Stop when a reading is as good as this value."),
        click.option("--step-timeout", type=float, metavar="SECONDS", help="A trial fails if a step takes longer."),
        click.option("--trial-timeout", type=float, metavar="SECONDS", help="A trial fails if it takes longer."),
        click.option("--retries", type=int, help="How often a trial that raises or is lost is run again at a step."),
    ):
        command = decorate(command)
    return command


def load_study(storage: str, name: str) -> Study:
    """The study of a command whose first argument is its name."""
    file = Path(DEFAULT_STORAGE.removeprefix("sqlite:///"))
    if storage == DEFAULT_STORAGE and not file.exists():
        raise StorageError(
            f"there is no {file} here; the first argument is the name of a study, and the file that holds it is given "
            "with --storage FILE"
        )
    return Study.load(storage, name)


def load_module(place: str) -> tuple[ModuleType, str]:
    """The two parts of FILE:OBJECTIVE, the file imported as a module."""
    path, name = locate(place)
    try:
        return load_file(path), name
    except ObjectiveError:
        raise
    except SystemExit as error:
        raise ObjectiveError(
            f"{path.name} ended while it was imported ({error_line(error)}): put what reads the command line, such as "
            'parse_args(), under `if __name__ == "__main__":`; or tune it as a command: '
            f"shoestring run --param lr=log:1e-4:1 -- python {path.name} --lr {{lr}}"
        ) from error
    except Exception as error:
        raise ObjectiveError(f"{path.name} cannot be loaded: {error_line(error)}") from error


def locate(place: str) -> tuple[Path, str]:
    """The file and the name of FILE:OBJECTIVE."""
    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise ObjectiveError(f"{place!r} names no objective; write FILE:OBJECTIVE, such as train.py:train")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise ObjectiveError(f"there is no file {file}; write FILE:OBJECTIVE, such as train.py:train")
    return path, name


def pick(module: ModuleType, name: str, what: str) -> Any:
    """Something that a user's file defines."""
    defined = vars(module)
    if name not in defined:
        own = [key for key, value in defined.items() if not isinstance(value, ModuleType) and key[0] != "_"]
        raise ObjectiveError(
            f"{Path(defined['__file__']).name} defines no {what} {name!r}; it defines {', '.join(own) or 'nothing'}"
        )
    return defined[name]


@contextmanager
def interruptible(command: str, study: Callable[[], Study] | None = None) -> Iterator[None]:
    """End the command at Ctrl-C without a traceback; say what will be run again, and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        repeats = repeats_in_words((lambda: study().repeats()) if study else None)
        echo(f"\nInterrupted{repeats}. Continue with: {command}", err=True)
        raise click.exceptions.Exit(130) from None
