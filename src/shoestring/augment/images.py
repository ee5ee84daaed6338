"""Images and labels from tensors, arrays or a dataset, and the batches that a search draws from them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shoestring._arrays import Codes
from shoestring.augment.operations import check_images
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError


class Images(NamedTuple):
    """A batch or a whole dataset: images (n, channels, height, width) and labels (n, …)."""

    images: Tensor
    labels: Tensor

    def select(self, rows: Codes) -> Images:
        index = torch.as_tensor(rows, device=self.images.device)
        return Images(self.images[index], self.labels[index])

    def to(self, device: Any) -> Images:
        return Images(self.images.to(device), self.labels.to(device))

    def digest(self) -> str:
        """A hash of exactly this data."""
        content = blake2b(digest_size=8)
        for part in self:
            content.update(str((tuple(part.shape), part.dtype)).encode())
            content.update(part.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return content.hexdigest()


class Batches:
    """The training and validation batches of a search, each a function of the seed and the step."""

    def __init__(self, train: Any, valid: Any, batch: int, valid_batch: int, seed: int, device: Any) -> None:
        self._train, self._valid = as_images(train, "train"), as_images(valid, "valid")
        shapes = [tuple(images.images.shape[1:]) for images in (self._train, self._valid)]
        if shapes[0] != shapes[1]:
            raise SpaceError(f"train has images of shape {shapes[0]} and valid of {shapes[1]}; they must be equal")
        self.digest = f"{self._train.digest()}/{self._valid.digest()}"
        self._train, self._valid = self._train.to(device), self._valid.to(device)
        self._size, self._valid_size = min(batch, len(self._train.images)), min(valid_batch, len(self._valid.images))
        self._seed = seed
        self._epoch: tuple[int, Codes] | None = None  # its number and the order of its images

    def training(self, step: int) -> Images:
        """The next batch of an epoch; each epoch has an order of its own."""
        n = len(self._train.images)
        epoch, place = divmod(step, n // self._size)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = epoch, generator(self._seed, epoch, "epoch").permutation(n)
        return self._train.select(self._epoch[1][place * self._size : (place + 1) * self._size])

    def validation(self, step: int) -> Images:
        rng = generator(self._seed, step, "validation")
        return self._valid.select(rng.choice(len(self._valid.images), self._valid_size, replace=False))


def as_images(given: Any, name: str) -> Images:
    """Images and labels from a pair of tensors or arrays, or from a dataset of (image, label), which is read once.

    >>> as_images((np.zeros((5, 8, 8), dtype=np.uint8), [0, 1, 0, 1, 0]), "train").images.shape
    torch.Size([5, 1, 8, 8])
    """
    if isinstance(given, (tuple, list)) and len(given) == 2:
        images, labels = given
    elif hasattr(given, "__getitem__") and hasattr(given, "__len__"):
        items = [given[index] for index in range(len(given))]
        if not items:
            raise SpaceError(f"{name} is empty")
        images = torch.stack([as_tensor(item[0]) for item in items])
        labels = [item[1] for item in items]
    else:
        raise SpaceError(
            f"{name} is {type(given).__name__}; give (images, labels) or a dataset with len() and items (image, label)"
        )
    images, labels = _as_batch(images), torch.as_tensor(labels if torch.is_tensor(labels) else np.asarray(labels))
    if len(images) != len(labels) or not len(images):
        raise SpaceError(f"{name} has {len(images)} images and {len(labels)} labels; give one label for each image")
    check_images(images)
    _check_range(images, name)
    return Images(images, labels if labels.is_floating_point() else labels.long())


def as_tensor(image: Any) -> Tensor:
    """One image, (channels, height, width), from a tensor, an array or a PIL image."""
    if torch.is_tensor(image):
        return image if image.ndim == 3 else image[None]
    if hasattr(image, "convert"):  # PIL's
        image = image if image.mode in ("L", "RGB") else image.convert("RGB")
    array = np.array(image)  # a copy: PIL's own memory must not be written to
    array = array[..., None] if array.ndim == 2 else array
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)) if array.shape[-1] in (1, 3) else array)


def _as_batch(images: Any) -> Tensor:
    """Images (n, channels, height, width) from a tensor of that shape, or an array; channels may be last, or none."""
    if torch.is_tensor(images):
        return images if images.ndim == 4 else images[:, None]
    array = np.asarray(images)
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and array.shape[-1] in (1, 3) and array.shape[1] not in (1, 3):
        array = array.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32 if array.dtype == np.float64 else None))


def _check_range(images: Tensor, name: str) -> None:
    if images.dtype == torch.uint8:
        return
    low, high = float(images.min()), float(images.max())
    if not (low >= 0 and high <= 1):
        raise SpaceError(
            f"{name} has pixels from {low:.3g} to {high:.3g}; operations need uint8, or floats from 0 to 1: "
            "scale the images, and normalise them in the model or with prepare="
        )


def as_floats(images: Tensor) -> Tensor:
    """The network's input by default: floats from 0 to 1."""
    return images.float() / 255 if images.dtype == torch.uint8 else images
