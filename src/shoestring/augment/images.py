"""Images and labels from tensors, arrays or a dataset, and the batches that a search draws from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shoestring._arrays import Codes
from shoestring._torch import EpochRows, Rows, Stream
from shoestring.augment.operations import check_images
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError

_PROBED = 64  # images that identify a dataset that is not read as a whole


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


class Source:
    """The images of a dataset by row: held on a device, or read batch by batch, ahead of time by ``workers`` processes.

    With ``workers`` None a dataset is read once, as a whole.
    """

    def __init__(self, given: Any, name: str, device: Any, workers: int | None) -> None:
        self._name, self._workers = name, workers
        self._held: Images | None = None
        if workers is None or _is_pair(given) or isinstance(given, Images):
            self._held = as_images(given, name)
            self.digest = self._held.digest()
            self._length, self.shape = len(self._held.images), tuple(self._held.images.shape[1:])
            self._held = self._held.to(device)
            return
        if workers < 0:
            raise SpaceError(f"workers={workers!r} is not possible: give a number of processes, 0 to read here")
        _check_dataset(given, name)
        self._dataset, self._device, self._length = given, device, len(given)
        probes = self._collate([given[int(row)] for row in np.linspace(0, len(given) - 1, min(_PROBED, len(given)))])
        self.shape, self.digest = tuple(probes.images.shape[1:]), f"{len(given)} {probes.digest()}"

    def __len__(self) -> int:
        return self._length

    def batches(self, rows: Rows, *, ahead: bool = True) -> Callable[[int], Images]:
        """The batches whose rows a function gives, by their number; on the device."""
        held = self._held
        if held is not None:
            return lambda index: held.select(rows(index))
        read = Stream(self._dataset, rows, self._collate, (self._workers or 0) if ahead else 0)
        return lambda index: read(index).to(self._device)

    def _collate(self, items: Sequence[Any]) -> Images:
        return as_images((torch.stack([as_tensor(item[0]) for item in items]), [item[1] for item in items]), self._name)


class Batches:
    """The training and validation batches of a search, each a function of the seed and the step."""

    def __init__(
        self, train: Any, valid: Any, batch: int, valid_batch: int, seed: int, device: Any, workers: int | None = None
    ) -> None:
        sources = Source(train, "train", device, workers), Source(valid, "valid", device, workers)
        shapes = [source.shape for source in sources]
        if shapes[0] != shapes[1]:
            raise SpaceError(f"train has images of shape {shapes[0]} and valid of {shapes[1]}; they must be equal")
        self.digest = "/".join(source.digest for source in sources)
        self._seed, self._valid, self._valid_size = seed, len(sources[1]), min(valid_batch, len(sources[1]))
        self.training = sources[0].batches(EpochRows(seed, len(sources[0]), batch))
        self.validation = sources[1].batches(self._validation_rows)

    def _validation_rows(self, step: int) -> Codes:
        return generator(self._seed, step, "validation").choice(self._valid, self._valid_size, replace=False)


def as_images(given: Any, name: str) -> Images:
    """Images and labels from a pair of tensors or arrays, or from a dataset of (image, label), which is read once.

    >>> as_images((np.zeros((5, 8, 8), dtype=np.uint8), [0, 1, 0, 1, 0]), "train").images.shape
    torch.Size([5, 1, 8, 8])
    """
    if _is_pair(given):
        images, labels = given
    else:
        _check_dataset(given, name)
        items = [given[index] for index in range(len(given))]
        images = torch.stack([as_tensor(item[0]) for item in items])
        labels = [item[1] for item in items]
    images, labels = _as_batch(images), torch.as_tensor(labels if torch.is_tensor(labels) else np.asarray(labels))
    if len(images) != len(labels) or not len(images):
        raise SpaceError(f"{name} has {len(images)} images and {len(labels)} labels; give one label for each image")
    check_images(images)
    _check_range(images, name)
    return Images(images, labels if labels.is_floating_point() else labels.long())


def _is_pair(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2


def _check_dataset(given: Any, name: str) -> None:
    if not (hasattr(given, "__getitem__") and hasattr(given, "__len__")):
        raise SpaceError(
            f"{name} is {type(given).__name__}; give (images, labels) or a dataset with len() and items (image, label)"
        )
    if not len(given):
        raise SpaceError(f"{name} is empty")


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
