"""Images for the command line: a folder, an ``.npz`` file, or scikit-learn's digits; and a small network for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from shoestring.augment.images import Images, as_images
from shoestring.errors import SpaceError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".tif", ".tiff"}
_HELD_OUT = 0.4


def read(source: Path | None, size: int, seed: int = 0) -> tuple[Images, Images, list[str]]:
    """Training and validation images, and the names of the classes."""
    if source is None:
        return _digits(seed)
    if source.is_dir():
        return _folder(source, size, seed)
    if source.suffix == ".npz":
        return _npz(source, seed)
    raise SpaceError(f"{source} is no folder and no .npz file; a folder has one folder of images for each class")


def _digits(seed: int) -> tuple[Images, Images, list[str]]:
    from sklearn.datasets import load_digits

    stored = load_digits()
    images = np.round(stored.images * (255 / 16)).astype(np.uint8)
    return (*_divided(images, stored.target, seed), [str(digit) for digit in range(10)])


def _folder(source: Path, size: int, seed: int) -> tuple[Images, Images, list[str]]:
    classes = sorted(entry.name for entry in source.iterdir() if entry.is_dir())
    files = [(file, label) for label, name in enumerate(classes) for file in sorted((source / name).iterdir())]
    files = [(file, label) for file, label in files if file.suffix.lower() in _ENDINGS]
    if len(classes) < 2 or len(files) < 10:
        raise SpaceError(
            f"{source} has {len(classes)} folders with {len(files)} images; "
            "one folder for each class is needed, with at least 10 images in all"
        )
    images = np.stack([_image(file, size) for file, _ in files])
    return (*_divided(images, np.array([label for _, label in files]), seed), classes)


def _image(file: Path, size: int) -> Any:
    from PIL import Image

    try:
        with Image.open(file) as stored:
            return np.asarray(stored.convert("RGB").resize((size, size)))
    except OSError as error:
        raise SpaceError(f"{file} cannot be read as an image: {error}") from None


def _npz(source: Path, seed: int) -> tuple[Images, Images, list[str]]:
    try:
        with np.load(source, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise SpaceError(f"{source} cannot be read: {error}") from None
    names = ("x_train", "y_train") if "x_train" in arrays else ("x", "y")
    if not {*names} <= {*arrays}:
        raise SpaceError(f"{source} has {', '.join(arrays) or 'nothing'}; x_train and y_train are needed, or x and y")
    x, y = (arrays[name] for name in names)
    classes = [str(label) for label in arrays.get("classes", np.unique(y))]
    if {"x_valid", "y_valid"} <= {*arrays}:
        return as_images((x, y), "x_train"), as_images((arrays["x_valid"], arrays["y_valid"]), "x_valid"), classes
    return (*_divided(x, y, seed), classes)


def _divided(images: Any, labels: Any, seed: int) -> tuple[Images, Images]:
    """Some held out for validation, the same share of each class."""
    from sklearn.model_selection import train_test_split

    try:
        x, held_x, y, held_y = train_test_split(images, labels, test_size=_HELD_OUT, random_state=seed, stratify=labels)
    except ValueError as error:
        raise SpaceError(f"the images cannot be divided into training and validation: {error}") from None
    return as_images((x, y), "training images"), as_images((held_x, held_y), "validation images")


def small_network(channels: int, classes: int, width: int = 16) -> nn.Module:
    """Three convolutions with batch-norm for images of any size."""

    def block(of: int, to: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(of, to, 3, stride, padding=1, bias=False), nn.BatchNorm2d(to), nn.ReLU()]

    layers = [*block(channels, width, 1), *block(width, 2 * width, 2), *block(2 * width, 4 * width, 2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes))


def threads(number: int) -> None:
    """How many threads torch uses; networks this small are fastest with one."""
    torch.set_num_threads(number)
