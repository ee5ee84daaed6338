"""Plots of a search: the heat map of the pairs (Figure 2 of Lu's thesis), and images before and after augmentation.

The values are computed by :meth:`PolicySet.heatmap` and by the operations; here it is only rendered. matplotlib and
Pillow are imported when a plot is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from shoestring.augment.policies import OPERATIONS, Policy, decode
from shoestring.augment.policy_set import PolicySet
from shoestring.core.randomness import generator
from shoestring.errors import MethodError, StorageError

_GAP = 2


def draw_heatmaps(sets: dict[str, PolicySet], path: str | os.PathLike[str]) -> None:
    """The mean reward of each pair, one heat map for each set: rows are first operations, columns second ones."""
    figure_type = _import("matplotlib.figure", "plots").Figure
    figure = figure_type(figsize=(5.2 * len(sets), 5.2), layout="constrained")
    ticks = np.arange(len(OPERATIONS))
    for place, (title, found) in enumerate(sets.items()):
        axes = figure.add_subplot(1, len(sets), place + 1)
        image = axes.imshow(found.heatmap(), cmap="viridis")
        axes.set_title(title)
        axes.set_xticks(ticks, OPERATIONS, rotation=90, fontsize=7)
        axes.set_yticks(ticks, OPERATIONS, fontsize=7)
        axes.set_xlabel("second operation")
        axes.set_ylabel("first operation")
        figure.colorbar(image, ax=axes, shrink=0.7, label="mean reward")
    _write(lambda: figure.savefig(path, dpi=90), path)


def draw_strip(images: Any, policies: Sequence[Policy], path: str | os.PathLike[str], *, scale: int = 3) -> None:
    """Images in the first row, and below it the same images under one policy a row."""
    from shoestring.augment.operations import DRAWS, apply_policies

    pil = _import("PIL.Image", "augment")
    rows = [images]
    for number, policy in enumerate(policies):
        draws = generator(0, number, "strip").random((2, len(images), DRAWS))
        rows.append(apply_policies(images, *decode(policy.index), draws))
    picture = pil.fromarray(_tile([_as_bytes(row) for row in rows]))
    size = (picture.width * scale, picture.height * scale)
    _write(lambda: picture.resize(size, pil.Resampling.NEAREST).save(path), path)


def _as_bytes(images: Any) -> Any:
    """(n, height, width, 3) bytes."""
    array = images.permute(0, 2, 3, 1).numpy()
    array = array if array.dtype == np.uint8 else np.round(array * 255).astype(np.uint8)
    return np.repeat(array, 3, axis=3) if array.shape[3] == 1 else array


def _tile(rows: list[Any]) -> Any:
    """Rows of images in a grid with white gaps."""
    n, height, width, _ = rows[0].shape
    sheet = np.full((len(rows) * (height + _GAP) - _GAP, n * (width + _GAP) - _GAP, 3), 255, dtype=np.uint8)
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            top, left = y * (height + _GAP), x * (width + _GAP)
            sheet[top : top + height, left : left + width] = image
    return sheet


def _import(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        name = module.partition(".")[0]
        raise MethodError(f"this plot needs {name}: pip install 'shoestring[{extra}]'") from None


def _write(save: Callable[[], None], path: str | os.PathLike[str]) -> None:
    try:
        save()
    except (OSError, ValueError) as error:  # a folder that does not exist, or an unknown file ending
        raise StorageError(f"{os.fspath(path)} cannot be written: {error}") from None
