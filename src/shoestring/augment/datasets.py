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
_TRAIN, _VALID, _TEST = "train", ("val", "valid"), ("test",)  # folders that are parts of the images, not classes


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


def read_dataset(
    source: Path | None, size: int, *, held_out: float | int = 0.4, test: bool = False, stream: bool = False
) -> Data:
    """Read a folder, with images resized to ``size`` pixels a side, or an .npz file; None is scikit-learn's digits.

    The second part is that in the folder val or valid (x_valid in a file), or with ``test`` that in the folder test
    (x_test), if there is one. Without it ``held_out`` of the training images, a share or a number, are held out; the
    folder test is then left alone. With ``stream`` a folder is read when it is used.
    """
    if source is None:
        return _digits(held_out)
    if source.is_dir():
        return _folder(source, size, held_out, test, stream)
    if source.suffix == ".npz":
        return _npz(source, held_out, test)
    raise SpaceError(
        f"{source} is neither a folder nor an .npz file; give a folder that has one folder of images for each class"
    )


def has_test_images(source: Path | None) -> bool:
    """Return whether a source has test images that no search uses."""
    if source is None:
        return False
    if source.is_dir():
        return _part(source, _TEST) is not None
    return "x_test" in _arrays(source)


def first_images(data: Any, most: int) -> Tensor:
    """The first images of what ``read_dataset`` returned, at most ``most``."""
    if isinstance(data, Images):
        return data.images[:most]
    return torch.stack([data[row][0] for row in range(min(most, len(data)))])


def labels_of(data: Any) -> Any:
    """The labels of what ``read_dataset`` returned, without reading the images."""
    if isinstance(data, torch.utils.data.Subset):
        return data.dataset.labels[data.indices]
    return np.asarray(data.labels)


def split_rows(labels: Any, held_out: float | int, seed: int = 0) -> tuple[Codes, Codes]:
    """The rows of a training and a held-out part, with the same share of each class.

    >>> [len(rows) for rows in split_rows([0, 1] * 10, 0.4)]
    [12, 8]
    """
    from sklearn.model_selection import train_test_split

    if not 0 < held_out < len(labels):
        raise SpaceError(f"{held_out:g} of {len(labels)} images cannot be held out; give a share or a number of them")
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


def _folder(source: Path, size: int, held_out: float | int, test: bool, stream: bool) -> Data:
    def read(folder: ImageFolder) -> Any:
        return folder if stream else _read(folder)

    part = _part(source, (*_TEST, *_VALID) if test else _VALID)
    if part is not None:
        train, held = ImageFolder(source / _TRAIN, size), ImageFolder(source / part, size)
        if train.classes != held.classes:
            raise SpaceError(f"{source / _TRAIN} and {source / part} do not have the same classes")
        return read(train), read(held), len(train.classes)
    whole = ImageFolder(source if _part(source, _TEST) is None else source / _TRAIN, size)
    kept, held_rows = split_rows(whole.labels, held_out)
    if stream:
        subset = torch.utils.data.Subset
        return subset(whole, kept.tolist()), subset(whole, held_rows.tolist()), len(whole.classes)
    images = _read(whole)
    return images.select(kept), images.select(held_rows), len(whole.classes)


def _part(source: Path, names: tuple[str, ...]) -> str | None:
    """The first of these folders that is there next to train, which makes them parts and not classes."""
    return next((name for name in names if all((source / part).is_dir() for part in (_TRAIN, name))), None)


def _read(folder: ImageFolder) -> Images:
    return as_images(folder, "the folder")


def _image(file: Path, size: int) -> Any:
    from PIL import Image

    try:
        with Image.open(file) as stored:
            return np.asarray(stored.convert("RGB").resize((size, size)))
    except OSError as error:
        raise SpaceError(f"{file} cannot be read as an image: {error}") from None


def _arrays(source: Path) -> dict[str, Any]:
    try:
        with np.load(source, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise SpaceError(f"{source} cannot be read: {error}") from None


def _npz(source: Path, held_out: float | int, test: bool) -> Data:
    arrays = _arrays(source)
    names = ("x_train", "y_train") if "x_train" in arrays else ("x", "y")
    if not {*names} <= {*arrays}:
        raise SpaceError(f"{source} has {', '.join(arrays) or 'nothing'}; x_train and y_train are needed, or x and y")
    x, y = (arrays[name] for name in names)
    classes = len(arrays.get("classes", np.unique(y)))
    for part in ("test", "valid") if test else ("valid",):
        if {f"x_{part}", f"y_{part}"} <= {*arrays}:
            held = as_images((arrays[f"x_{part}"], arrays[f"y_{part}"]), f"x_{part}")
            return as_images((x, y), "x_train"), held, classes
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
