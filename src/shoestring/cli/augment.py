"""``shoestring augment``: rank augmentation policies for a folder of images in one command."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import click

from shoestring.augment.estimates import Estimate
from shoestring.augment.plots import draw_heatmaps, draw_strip
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.pruning import Pruning
from shoestring.cli.output import echo
from shoestring.errors import MethodError, StorageError

_SHOWN = 5


class _SearchByDefault(click.Group):
    """A group in which ``augment SOURCE`` is ``augment search SOURCE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = ["search", *args]
        return super().parse_args(ctx, args)


_COUNT, _POSITIVE = click.IntRange(min=1), click.FloatRange(min=0, min_open=True)


@click.group(cls=_SearchByDefault, epilog="\b\nExample:\n  shoestring augment photos/ --budget 10m")
def augment() -> None:
    """Search for augmentation policies that help, and train networks with what was found.

    SOURCE is a folder with a folder of images for each class, or an .npz file with x_train and y_train; the default is
    scikit-learn's digits. "shoestring augment SOURCE" searches; write ./train for a folder of the name of a command.
    """


def _output(default: str, holds: str) -> Callable[[Any], Any]:
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option(
        "--output", type=kind, default=Path(default), show_default=True, help=f"The folder for {holds}."
    )


def _shared_options(command: Any) -> Any:
    """The options of both commands: the images, and where the networks are trained."""
    options = (
        click.argument("source", required=False, type=click.Path(exists=True, path_type=Path)),
        click.option(
            "--size", type=click.IntRange(min=8), default=32, show_default=True, help="Pixels a side, for a folder."
        ),
        click.option("--held-out", type=float, help="Images to hold out: a share, or a number.  [default: 0.4]"),
        click.option("--workers", type=click.IntRange(min=0), help="Processes that read a folder batch by batch."),
        click.option("--device", "devices", multiple=True, help="cpu or cuda:0; several share every batch."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@augment.command(epilog="\b\nExample:\n  shoestring augment search photos/ --budget 10m --output augment")
@_shared_options
@click.option("--budget", default="45s", show_default=True, help="Steps or time, such as '20000 steps' or '1h'.")
@click.option("--rounds", default=10, show_default=True, help="How often bad policies are dropped.")
@click.option("--pruning", type=click.Choice(get_args(Pruning)), default="eop", show_default=True)
@click.option("--estimate", type=click.Choice(get_args(Estimate)), default="shrunk", show_default=True)
@click.option(
    "--first-pass", type=click.Choice(("stage", "all")), default="stage", show_default=True,
    help="Which policies are played first: those of the first magnitude stage, or all 22,500.",
)  # fmt: skip
@click.option("--initial", type=click.IntRange(min=0), help="Steps of the first pass.  [default: at most half]")
@click.option("--network", default="small", show_default=True, help="small, or wrn-DEPTH-WIDTH such as wrn-40-2.")
@click.option("--rate", type=_POSITIVE, default=0.05, show_default=True, help="The learning rate.")
@click.option("--batch", type=_COUNT, default=32, show_default=True)
@click.option("--valid-batch", type=_COUNT, default=128, show_default=True)
@click.option("--save-every", type=_COUNT, default=500, show_default=True, help="Steps between two checkpoints.")
@click.option("--seed", default=0, show_default=True)
@_output("augment", "the ranking, the plots and the checkpoint of the search")
def search(
    source: Path | None, size: int, held_out: float | None, workers: int | None, devices: tuple[str, ...], quiet: bool,
    network: str, rate: float, output: Path, **settings: Any,
) -> None:  # fmt: skip
    """Search for augmentation policies that help a network with the images of SOURCE.

    The same command continues a search that was interrupted.
    """
    jobs = _jobs()
    images = jobs.Images(source, size, held_out, workers, devices)
    found, shown = jobs.search_images(
        images, network, rate, lambda: _create(output), progress=False if quiet else None, **settings
    )
    found.save(output / "policies.json")
    _report(found)
    _draw(found, shown, output)


@augment.command(epilog="\b\nExample:\n  shoestring augment train photos/ --policies augment/policies.json --epochs 50")
@_shared_options
@click.option(
    "--policies", type=click.Path(exists=True, dir_okay=False, path_type=Path), multiple=True,
    help="What a search found; several files are several searches.",
)  # fmt: skip
@click.option(
    "--sets", default="none,uniform,union", show_default=True,
    help="What to train with: none, uniform, union (the thesis's choice), half (of the pairs), best5, worst5.",
)  # fmt: skip
@click.option("--network", default="wrn-40-2", show_default=True, help="wrn-DEPTH-WIDTH, or small.")
@click.option("--epochs", default=200, show_default=True)
@click.option("--batch", type=_COUNT, default=128, show_default=True)
@click.option(
    "--rate", type=_POSITIVE, default=0.1, show_default=True, help="The learning rate, which falls as a cosine."
)
@click.option("--decay", default=2e-4, show_default=True, help="The weight decay.")
@click.option("--crop", default=4, show_default=True, help="Pixels of padding for random crops; 0: no crops.")
@click.option("--flip/--no-flip", default=True, show_default=True, help="Mirror half of the images.")
@click.option("--cutout", default=16, show_default=True, help="Side of the cut-out square; 0: none.")
@click.option("--seeds", type=_COUNT, default=3, show_default=True, help="Trainings with each set.")
@_output("augment", "the checkpoints of the trainings and the table, train.json")
def train(
    source: Path | None, size: int, held_out: float | None, workers: int | None, devices: tuple[str, ...], quiet: bool,
    policies: tuple[Path, ...], sets: str, seeds: int, output: Path, **recipe: Any,
) -> None:  # fmt: skip
    """Train a network with policies that a search found and without, and print the test accuracies.

    The accuracies are those on the test images of SOURCE (a folder test/ next to train/, or x_test in an .npz file),
    which a search does not use; without them a part is held out. The same command continues after the last epoch that
    was finished.
    """
    jobs, found = _jobs(), [PolicySet.load(path) for path in policies]
    images = jobs.Images(source, size, held_out, workers, devices)
    names = [name.strip() for name in sets.split(",")]
    rows, seen = jobs.train_with(images, found, names, seeds, recipe, lambda: _create(output), None if quiet else echo)
    echo(f"{'':<10}{'test accuracy, %':>20}{'trainings':>12}")
    for row in rows:
        error = "" if row.error is None else f" ± {row.error:.2f}"
        echo(f"{row.name:<10}{f'{row.accuracy:.2f}{error}':>20}{row.trainings:>12}")
    if seen:
        echo("note: there are no test images of their own, so these may be what the search has validated on")
    echo(f"written: {output / 'train.json'}")


def _jobs() -> Any:
    if find_spec("torch") is None:
        raise MethodError("augment needs torch: pip install 'shoestring[augment]'")
    from shoestring.augment import jobs  # here because it imports torch

    return jobs


def _create(output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{output} cannot be created: {error.strerror}") from None
    return output


def _report(found: PolicySet) -> None:
    click.secho(f"{found.plays:,} plays of {len(found.order()):,} policies", bold=True)
    for title, pairs in (("best", found.top_pairs(_SHOWN)), ("worst", found.bottom_pairs(_SHOWN))):
        echo(f"the {title} pairs of operations, with mean reward, upper bound and plays")
        for item in pairs:
            echo(f"  {item.pair!s:<28}{item.mean:.3f}  {item.ucb:.3f}  {item.plays}")
    echo("the best policies, operation(level)")
    for ranked in found.top(_SHOWN):
        echo(f"  {ranked.policy!s:<34}{ranked.mean:.3f}  {ranked.ucb:.3f}  {ranked.plays}")


def _draw(found: PolicySet, images: Any, output: Path) -> None:
    """Write the two plots; if a library is missing, say which plot was not drawn."""
    shown = [ranked.policy for ranked in (*found.top(4), *found.bottom(2))]
    plots: dict[str, Callable[[Path], None]] = {
        "heatmap.png": lambda path: draw_heatmaps({"mean reward of pairs": found}, path),
        "strip.png": lambda path: draw_strip(images, shown, path),
    }
    echo(f"written: {output / 'policies.json'}")
    for name, draw in plots.items():
        try:
            draw(output / name)
            echo(f"written: {output / name}")
        except MethodError as error:
            echo(f"{output / name} was not drawn: {error}", err=True)
