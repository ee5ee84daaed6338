"""``shoestring plot``: a plot of a stored study as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoestring import plots
from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.output import echo
from shoestring.errors import StorageError
from shoestring.plots.plot import Backend
from shoestring.study import Study

# The plots of a stored study; the others are of something else.
KINDS = sorted(set(plots.__all__) - {"online", "pairs"})
# Those that show one of several objectives.
_OF_ONE = ("contour", "curves", "history", "importance", "parallel", "slices")
_BACKENDS: dict[str, Backend] = {".svg": "svg", ".html": "plotly"}


@click.command(
    help=f"Draw a plot of a stored study.\n\nKIND is one of {', '.join(KINDS)}.",
    epilog="\b\nExample:\n  shoestring plot shoestring.db digits curves -o curves.png",
)
@click.argument("place", nargs=-1, metavar="[STORAGE] [NAME]")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.option("--storage", metavar="STORAGE", help="The file that holds the study.")
@click.option("--name", metavar="NAME", help="The study; needed if the storage holds several.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="The file, by default KIND.png: .png, .pdf and .jpg need matplotlib, .html needs plotly, .svg needs neither.",
)  # fmt: skip
@click.option("--width", type=click.IntRange(200, 4000), default=800, show_default=True, help="In pixels.")
@click.option("--with", "others", multiple=True, metavar="NAME", help="Another study of the storage, for regret.")
@click.option("--at", type=click.FloatRange(0, 1), help="The share of the budget spent by the moment of forecast.")
@click.option("--objective", metavar="NAME", help=f"Which of several objectives to draw, in {', '.join(_OF_ONE)}.")
def plot(
    place: tuple[str, ...], kind: str, storage: str | None, name: str | None, output: Path | None, width: int,
    others: tuple[str, ...], at: float | None, objective: str | None,
) -> None:  # fmt: skip
    if len(place) > 2:
        raise click.UsageError(f"a storage, a name and a kind were expected; {', '.join([*place, kind])} was given")
    by_storage, by_name = (*place, None, None)[:2]
    storage, name = storage or by_storage or DEFAULT_STORAGE, name or by_name
    if others and kind != "regret":
        raise click.UsageError(f"--with is for the plot regret, which compares studies; {kind} shows one")
    if at is not None and kind != "forecast":
        raise click.UsageError(f"--at is for the plot forecast, which shows one moment; {kind} shows all of it")
    if objective is not None and kind not in _OF_ONE:
        raise click.UsageError(f"--objective is for the plots {', '.join(_OF_ONE)}; {kind} shows no objective alone")
    study = Study.load(storage, name)
    shown: Any = [study, *(Study.load(storage, other) for other in others)] if kind == "regret" else study
    path = output or Path(f"{kind}.png")
    options: dict[str, Any] = {"at": at, "objective": objective}
    given = {option: value for option, value in options.items() if value is not None}
    backend = _BACKENDS.get(path.suffix.lower(), "matplotlib")
    figure = getattr(plots, kind)(shown, backend=backend, width=width, **given)
    _save(figure, path)
    echo(f"{path}: {kind} of {study.name}", err=True)


def _save(figure: Any, path: Path) -> None:
    try:
        if isinstance(figure, str):
            path.write_text(figure, encoding="utf-8")
        elif path.suffix.lower() == ".html":
            figure.write_html(path)
        else:
            figure.savefig(path)
    except (OSError, ValueError) as error:  # a folder that does not exist, or an unknown file ending
        raise StorageError(f"{path} cannot be written: {error}") from None
