"""Images and labels from what a user has: tensors, arrays or a dataset."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shoestring.augment.operations import check_images
from shoestring.errors import SpaceError


class Images(NamedTuple):
    """A batch or a whole set: images (n, channels, height, width) and labels (n, …)."""

    images: Tensor
    labels: Tensor

    def rows(self, which: Any) -> Images:
        place = torch.as_tensor(which, device=self.images.device)
        return Images(self.images[place], self.labels[place])

    def to(self, device: Any) -> Images:
        return Images(self.images.to(device), self.labels.to(device))

    def digest(self) -> str:
        """A short name of exactly this data, to know it again."""
        sum_of = blake2b(digest_size=8)
        for part in self:
            sum_of.update(str((tuple(part.shape), part.dtype)).encode())
            sum_of.update(part.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return sum_of.hexdigest()


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
    images, labels = as_batch(images), torch.as_tensor(np.asarray(labels) if not torch.is_tensor(labels) else labels)
    if len(images) != len(labels) or not len(images):
        raise SpaceError(
            f"{name} has {len(images)} images and {len(labels)} labels; as many are needed, and at least one"
        )
    check_images(images)
    _check_range(images, name)
    return Images(images, labels.long() if not labels.is_floating_point() else labels)


def as_tensor(image: Any) -> Tensor:
    """One image, (channels, height, width), from a tensor, an array or a PIL image."""
    if torch.is_tensor(image):
        return image if image.ndim == 3 else image[None]
    if hasattr(image, "convert"):  # PIL's
        image = image if image.mode in ("L", "RGB") else image.convert("RGB")
    array = np.array(image)  # a copy: PIL's own memory must not be written to
    array = array[..., None] if array.ndim == 2 else array
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)) if array.shape[-1] in (1, 3) else array)


def as_batch(images: Any) -> Tensor:
    """Images (n, channels, height, width) from a tensor of that shape, or an array; channels may be last, or none."""
    if torch.is_tensor(images):
        return images if images.ndim == 4 else images[:, None]
    array = np.asarray(images)
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and array.shape[-1] in (1, 3) and array.shape[1] not in (1, 3):
        array = array.transpose(0, 3, 1, 2)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(array))


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
    """What a network takes if nothing else is said: floats from 0 to 1."""
    return images.float() / 255 if images.dtype == torch.uint8 else images
