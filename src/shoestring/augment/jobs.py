"""The work of the commands ``shoestring augment search`` and ``train``, with everything that needs torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from shoestring.augment.bandit_search import search
from shoestring.augment.comparison import Line, Plan, compare
from shoestring.augment.datasets import first_images, has_test_images, read_dataset
from shoestring.augment.evaluation import Recipe
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.wide_resnet import network_named
from shoestring.errors import MethodError

_STRIP = 10  # images that are shown with policies


@dataclass(frozen=True)
class Images:
    """The source of the images, and the device of the trainings."""

    source: Path | None
    size: int
    held_out: float | None
    workers: int | None
    devices: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.devices or self.devices == ("cpu",):
            torch.set_num_threads(1)  # fastest for a network that is trained on a processor
        for name in self.devices:
            try:
                torch.zeros(1, device=name)
            except (RuntimeError, AssertionError) as error:
                raise MethodError(f"--device {name} cannot be used: {error}") from None

    def read(self, test: bool) -> tuple[Any, Any, int]:
        held = 0.4 if self.held_out is None else self.held_out if self.held_out < 1 else int(self.held_out)
        return read_dataset(self.source, self.size, held_out=held, test=test, stream=self.workers is not None)


def search_images(
    images: Images, network: str, rate: float, prepare: Callable[[], Path], **settings: Any
) -> tuple[PolicySet, Any]:
    """Search, and return what was found and some images; ``prepare`` creates the folder once the rest is checked."""
    train, valid, classes = images.read(test=False)
    channels = first_images(train, 1).shape[1]
    network_named(network, channels, classes)  # a wrong name is said before anything is written
    found = search(
        lambda: network_named(network, channels, classes), train, valid, device=list(images.devices) or None,
        optimizer=lambda p: torch.optim.SGD(p, lr=rate, momentum=0.9, weight_decay=2e-4), workers=images.workers,
        state=prepare() / "search.pt", **settings,
    )  # fmt: skip
    return found, first_images(valid, _STRIP)


def train_with(
    images: Images, found: list[PolicySet], sets: Sequence[str], seeds: int, recipe: dict[str, Any],
    prepare: Callable[[], Path], say: Callable[[str], Any] | None,
) -> tuple[list[Line], bool]:  # fmt: skip
    """Train with some sets; returns the table, and whether the search may have validated on the test images."""
    plan = Plan(Recipe(**recipe), list(sets), found, seeds)
    train, test, classes = images.read(test=True)
    lines = compare(
        plan, train, test, classes, prepare(), devices=list(images.devices) or None, workers=images.workers, say=say
    )
    return lines, bool(found) and not has_test_images(images.source)
