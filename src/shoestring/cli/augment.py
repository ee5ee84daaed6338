"""``shoestring augment``: rank augmentation policies for a folder of images in one command."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import click

from shoestring import augment as augmentation
from shoestring.augment.estimates import Estimate
from shoestring.augment.plots import draw_heatmaps, draw_strip
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.pruning import Pruning
from shoestring.cli.output import echo
from shoestring.errors import MethodError, StorageError

_SHOWN = 5


@click.command(epilog="\b\nExample:\n  shoestring augment photos/ --budget 10m --output augment")
@click.argument("source", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--budget", default="45s", show_default=True, help="Steps or time, such as '20000 steps' or '1h'.")
@click.option("--rounds", default=10, show_default=True, help="How often bad policies are dropped.")
@click.option("--pruning", type=click.Choice(get_args(Pruning)), default="eop", show_default=True)
@click.option("--estimate", type=click.Choice(get_args(Estimate)), default="shrunk", show_default=True)
@click.option("--size", type=click.IntRange(min=8), default=32, show_default=True, help="Pixels a side, for a folder.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("augment"), show_default=True,
    help="The folder for the ranking, the plots and the checkpoint of the search.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Show no live display.")
def augment(source: Path | None, size: int, output: Path, quiet: bool, **settings: Any) -> None:
    """Search for augmentation policies that help a small network with the images of SOURCE.

    SOURCE is a folder with a folder of images for each class, or an .npz file with x_train and y_train; the default is
    scikit-learn's digits. The same command continues a search that was interrupted.
    """
    if find_spec("torch") is None:
        raise MethodError("augment needs torch: pip install 'shoestring[augment]'")
    import torch

    from shoestring.augment.datasets import read_dataset, small_network  # here because it imports torch

    torch.set_num_threads(1)  # fastest for a network this small
    train, valid, classes = read_dataset(source, size)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{output} cannot be created: {error.strerror}") from None
    channels = train.images.shape[1]
    found = augmentation.search(
        lambda: small_network(channels, classes), train, valid,
        state=output / "search.pt", progress=False if quiet else None, **settings,
    )  # fmt: skip
    found.save(output / "policies.json")
    _report(found)
    _draw(found, valid.images, output)


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
        "strip.png": lambda path: draw_strip(images[:10], shown, path),
    }
    echo(f"written: {output / 'policies.json'}")
    for name, draw in plots.items():
        try:
            draw(output / name)
            echo(f"written: {output / name}")
        except MethodError as error:
            echo(f"{output / name} was not drawn: {error}", err=True)
