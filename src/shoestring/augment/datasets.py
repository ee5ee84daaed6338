"""Data for the command line: images from a folder, an ``.npz`` file or scikit-learn, and a small network for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from shoestring.augment.images import Images, as_images
from shoestring.errors import SpaceError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".tif", ".tiff"}
_VALIDATION_SHARE = 0.4

Dataset = tuple[Images, Images, int]  # training images, validation images, number of classes


def read_dataset(source: Path | None, size: int) -> Dataset:
    """Read a folder, with images resized to ``size`` pixels a side, or an .npz file; None is scikit-learn's digits."""
    if source is None:
        return _digits()
    if source.is_dir():
        return _folder(source, size)
    if source.suffix == ".npz":
        return _npz(source)
    raise SpaceError(
        f"{source} is neither a folder nor an .npz file; give a folder that has one folder of images for each class"
    )


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    stored = load_digits()
    return (*_split(np.round(stored.images * (255 / 16)).astype(np.uint8), stored.target), 10)


def _folder(source: Path, size: int) -> Dataset:
    classes = sorted(entry.name for entry in source.iterdir() if entry.is_dir())
    files = [(file, label) for label, name in enumerate(classes) for file in sorted((source / name).iterdir())]
    files = [(file, label) for file, label in files if file.suffix.lower() in _ENDINGS]
    if len(classes) < 2 or len(files) < 10:
        raise SpaceError(
            f"{source} has {len(classes)} folders with {len(files)} images; "
            "give one folder for each class, with at least 10 images in total"
        )
    images = np.stack([_image(file, size) for file, _ in files])
    return (*_split(images, np.array([label for _, label in files])), len(classes))


def _image(file: Path, size: int) -> Any:
    from PIL import Image

    try:
        with Image.open(file) as stored:
            return np.asarray(stored.convert("RGB").resize((size, size)))
    except OSError as error:
        raise SpaceError(f"{file} cannot be read as an image: {error}") from None


def _npz(source: Path) -> Dataset:
    try:
        with np.load(source, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise SpaceError(f"{source} cannot be read: {error}") from None
    names = ("x_train", "y_train") if "x_train" in arrays else ("x", "y")
    if not {*names} <= {*arrays}:
        raise SpaceError(f"{source} has {', '.join(arrays) or 'nothing'}; x_train and y_train are needed, or x and y")
    x, y = (arrays[name] for name in names)
    classes = len(arrays.get("classes", np.unique(y)))
    if {"x_valid", "y_valid"} <= {*arrays}:
        return as_images((x, y), "x_train"), as_images((arrays["x_valid"], arrays["y_valid"]), "x_valid"), classes
    return (*_split(x, y), classes)


def _split(images: Any, labels: Any) -> tuple[Images, Images]:
    """Training and validation images, with the same share of each class."""
    from sklearn.model_selection import train_test_split

    try:
        x, held_x, y, held_y = train_test_split(
            images, labels, test_size=_VALIDATION_SHARE, random_state=0, stratify=labels
        )
    except ValueError as error:
        raise SpaceError(f"the images cannot be split into training and validation: {error}") from None
    return as_images((x, y), "training images"), as_images((held_x, held_y), "validation images")


def small_network(channels: int, classes: int) -> nn.Module:
    """Three convolutions with batch-norm for images of any size."""

    def block(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    layers = [*block(channels, 16, 1), *block(16, 32, 2), *block(32, 64, 2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
