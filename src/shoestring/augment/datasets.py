"""Data for the command line: images from a folder, an ``.npz`` file or scikit-learn, and a small network for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shoestring._arrays import Codes
from shoestring.augment.images import Images, as_images, as_tensor
from shoestring.errors import SpaceError

_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".tif", ".tiff"}

Data = tuple[Any, Any, int]  # training images, held-out images, number of classes
_PARTS = ("train", "test"), ("train", "val"), ("train", "valid")  # folders with parts of their own


class ImageFolder(torch.utils.data.Dataset):  # type: ignore[misc]
    """The images of a folder that has one folder for each class, each read when it is asked for.

    Items are (uint8 image of ``size`` pixels a side, number of the class), and ``labels`` are those of all items.
    """

    def __init__(self, source: Path, size: int) -> None:
        self.classes = sorted(entry.name for entry in source.iterdir() if entry.is_dir())
        files = [(file, label) for label, name in enumerate(self.classes) for file in sorted((source / name).iterdir())]
        self._files = [(file, label) for file, label in files if file.suffix.lower() in _ENDINGS]
        self._size = size
        if len(self.classes) < 2 or len(self._files) < 10:
            raise SpaceError(
                f"{source} has {len(self.classes)} folders with {len(self._files)} images; "
                "give one folder for each class, with at least 10 images in total"
            )
        self.labels = np.array([label for _, label in self._files])

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        file, label = self._files[index]
        return as_tensor(_image(file, self._size)), label


def read_dataset(source: Path | None, size: int, *, held_out: float | int = 0.4, stream: bool = False) -> Data:
    """Read a folder, with images resized to ``size`` pixels a side, or an .npz file; None is scikit-learn's digits.

    A folder with the folders train and test (or val, valid) and an .npz file with x_valid are split already. Otherwise
    ``held_out``, a share or a number of images, is held out. With ``stream`` a folder is read when it is used.
    """
    if source is None:
        return _digits(held_out)
    if source.is_dir():
        return _folder(source, size, held_out, stream)
    if source.suffix == ".npz":
        return _npz(source, held_out)
    raise SpaceError(
        f"{source} is neither a folder nor an .npz file; give a folder that has one folder of images for each class"
    )


def split_rows(labels: Any, held_out: float | int, seed: int = 0) -> tuple[Codes, Codes]:
    """The rows of a training and a held-out part, with the same share of each class.

    >>> [len(rows) for rows in split_rows([0, 1] * 10, 0.4)]
    [12, 8]
    """
    from sklearn.model_selection import train_test_split

    try:
        kept, held = train_test_split(
            np.arange(len(labels)), test_size=held_out, random_state=seed, stratify=np.asarray(labels)
        )
    except ValueError as error:
        raise SpaceError(f"the images cannot be split into training and validation: {error}") from None
    return kept, held


def _digits(held_out: float | int) -> Data:
    from sklearn.datasets import load_digits

    stored = load_digits()
    return (*_split(np.round(stored.images * (255 / 16)).astype(np.uint8), stored.target, held_out), 10)


def _folder(source: Path, size: int, held_out: float | int, stream: bool) -> Data:
    parts = next((names for names in _PARTS if all((source / name).is_dir() for name in names)), None)
    if parts is not None:
        train, held = (ImageFolder(source / name, size) for name in parts)
        if train.classes != held.classes:
            raise SpaceError(f"{source / parts[0]} and {source / parts[1]} do not have the same classes")
        return (train, held, len(train.classes)) if stream else (_read(train), _read(held), len(train.classes))
    whole = ImageFolder(source, size)
    kept, held_rows = split_rows(whole.labels, held_out)
    if stream:
        subset = torch.utils.data.Subset
        return subset(whole, kept.tolist()), subset(whole, held_rows.tolist()), len(whole.classes)
    read = _read(whole)
    return read.select(kept), read.select(held_rows), len(whole.classes)


def _read(folder: ImageFolder) -> Images:
    return as_images(folder, "the folder")


def _image(file: Path, size: int) -> Any:
    from PIL import Image

    try:
        with Image.open(file) as stored:
            return np.asarray(stored.convert("RGB").resize((size, size)))
    except OSError as error:
        raise SpaceError(f"{file} cannot be read as an image: {error}") from None


def _npz(source: Path, held_out: float | int) -> Data:
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
    return (*_split(x, y, held_out), classes)


def _split(images: Any, labels: Any, held_out: float | int) -> tuple[Images, Images]:
    whole = as_images((images, labels), "images")
    kept, held = split_rows(labels, held_out)
    return whole.select(kept), whole.select(held)


def small_network(channels: int, classes: int) -> nn.Module:
    """Three convolutions with batch-norm for images of any size."""

    def block(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    layers = [*block(channels, 16, 1), *block(16, 32, 2), *block(32, 64, 2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
