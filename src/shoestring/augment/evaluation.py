"""The evaluation of a set of policies: a network trained with it from the start, and its accuracy on test images.

As in the thesis, which follows Lim, Kim, Kim, Kim and Kim, Fast AutoAugment, NeurIPS 2019: every image gets a policy of
the set, then a crop of the padded image, a mirror image with probability one half, standardisation by channel, and a
cut-out square. SGD with Nesterov momentum, and a learning rate that falls as a cosine after a warm-up of five epochs.

A training is written to a file after every epoch, and continues from it exactly: what is drawn at a step follows from
the seed and the step.

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021, section 3.4.1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shoestring._torch import EpochRows, read_checkpoint, seed_torch, write_checkpoint
from shoestring.augment.images import Source, as_floats
from shoestring.augment.replicas import Replicas
from shoestring.augment.transform import Augment, Policies
from shoestring.augment.wide_resnet import network_named
from shoestring.core.randomness import integer
from shoestring.errors import MethodError, ObjectiveError, StudyMismatch

_FORMAT = 1
_WARM_UP = 5  # epochs
_TESTED = 500  # images at a time
_SEEN = 2000  # images for the mean and the standard deviation of each channel


@dataclass(frozen=True)
class Recipe:
    """The options of a training; the defaults are the thesis's for WRN-40-2 on CIFAR."""

    network: str = "wrn-40-2"
    epochs: int = 200
    batch: int = 128
    rate: float = 0.1
    decay: float = 2e-4
    crop: int = 4  # pixels of padding, 0: no crops
    flip: bool = True
    cutout: int = 16  # side of the square, 0: none

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "batch": 1, "crop": 0, "cutout": 0}.items():
            if getattr(self, name) < least:
                raise MethodError(f"{name}={getattr(self, name)!r} is not possible: it must be at least {least}")


class Evaluation:
    """A training with ``policies`` (None: without any) by a ``recipe``, and the accuracy at its end."""

    def __init__(
        self,
        policies: Policies | None,
        train: Any,
        test: Any,
        classes: int,
        recipe: Recipe,
        *,
        seed: int = 0,
        state: Path | None = None,
        devices: Sequence[torch.device] = (torch.device("cpu"),),
        workers: int | None = None,
    ) -> None:
        self._recipe, self._seed, self._state, self._device = recipe, seed, state, devices[0]
        self._train, self._test = (
            Source(given, name, self._device, workers) for given, name in ((train, "train"), (test, "test"))
        )
        rows = EpochRows(seed, len(self._train), recipe.batch)
        self._steps, self._batch = rows.steps, self._train.batches(rows)
        self._augment = None if policies is None else Augment(policies, seed=seed)
        with self._own_randomness():
            seed_torch(integer(seed, 0, "network"), self._device)
            model = network_named(recipe.network, self._train.shape[0], classes).to(self._device)
        self._model, self._replicas = model, Replicas(model, devices)
        self._optimizer = torch.optim.SGD(
            model.parameters(), lr=recipe.rate, momentum=0.9, nesterov=True, weight_decay=recipe.decay
        )
        self._mean, self._deviation = self._spread()
        self.epoch = 0
        self._accuracy: float | None = None
        self._description = {
            **asdict(recipe), "seed": seed, "train": self._train.digest, "test": self._test.digest,
            "policies": None if self._augment is None else self._augment.digest(),
        }  # fmt: skip

    def run(self, progress: Callable[[int], None] = lambda epoch: None) -> float:
        """Train to the end and return the test accuracy in per cent; ``progress`` is told each epoch that is done."""
        with self._own_randomness():
            self._restore()
            while self.epoch < self._recipe.epochs:
                for step in range(self.epoch * self._steps, (self.epoch + 1) * self._steps):
                    self._train_step(step)
                self.epoch += 1
                progress(self.epoch)
                if self.epoch == self._recipe.epochs:
                    self._accuracy = self._test_accuracy()
                self._save()
        if self._accuracy is None:
            self._accuracy = self._test_accuracy()
        return self._accuracy

    def _own_randomness(self) -> Any:
        """Leave torch's global generators as they were."""
        return torch.random.fork_rng(devices=[self._device] if self._device.type == "cuda" else [])

    def _train_step(self, step: int) -> None:
        images, labels = self._batch(step)
        seed_torch(integer(self._seed, step, "training"), self._device)
        if self._augment is not None:
            self._augment.load_state_dict({"calls": step})
            images = self._augment(images)
        recipe = self._recipe
        x = crop(images, recipe.crop) if recipe.crop else images
        x = mirror(x) if recipe.flip else x
        x = self._standardise(x)
        x = cut_out(x, recipe.cutout) if recipe.cutout else x
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(recipe.rate, step / self._steps, recipe.epochs)
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._replicas.backward(torch.nn.functional.cross_entropy, x, labels)
        if not math.isfinite(loss):
            raise ObjectiveError(f"the training loss is {loss} at step {step}; give a smaller rate")
        self._optimizer.step()

    def _test_accuracy(self) -> float:
        chunks = np.array_split(np.arange(len(self._test)), max(math.ceil(len(self._test) / _TESTED), 1))
        batches, right = self._test.batches(lambda index: chunks[min(index, len(chunks) - 1)]), 0
        for index in range(len(chunks)):
            images, labels = batches(index)
            right += int((self._replicas.outputs(self._standardise(images)).argmax(1) == labels).sum())
        return 100 * right / len(self._test)

    def _standardise(self, images: Tensor) -> Tensor:
        return (as_floats(images) - self._mean) / self._deviation

    def _spread(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of each channel, from images spread over the training images."""
        rows = np.linspace(0, len(self._train) - 1, min(_SEEN, len(self._train))).astype(np.int64)
        x = as_floats(self._train.batches(lambda index: rows, ahead=False)(0).images)
        return x.mean(dim=(0, 2, 3), keepdim=True)[0], x.std(dim=(0, 2, 3), keepdim=True)[0] + 1e-6

    def _save(self) -> None:
        if self._state is not None:
            content = {
                "format": _FORMAT, "description": json.dumps(self._description), "epoch": self.epoch,
                "accuracy": self._accuracy, "network": self._model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
            }  # fmt: skip
            write_checkpoint(content, self._state, "training")

    def _restore(self) -> None:
        if self._state is None or not self._state.exists():
            return
        content = read_checkpoint(self._state, _FORMAT, "training")
        saved = json.loads(content["description"])
        if saved != self._description:
            differ = [f"{name} is {saved.get(name)!r} in the file, {value!r} was given"
                      for name, value in self._description.items() if saved.get(name) != value]  # fmt: skip
            raise StudyMismatch(f"{self._state} holds another training: {'; '.join(differ)}. Give another --output")
        self._model.load_state_dict(content["network"])
        self._optimizer.load_state_dict(content["optimizer"])
        self.epoch, self._accuracy = content["epoch"], content["accuracy"]


def learning_rate(rate: float, epoch: float, epochs: int) -> float:
    """A linear warm-up from a tenth over the first epochs, at most a tenth of all, then a cosine to 0.

    >>> [round(learning_rate(0.1, epoch, 100), 3) for epoch in (0, 2.5, 5, 50, 100)]
    [0.01, 0.055, 0.099, 0.05, 0.0]
    """
    warm_up = min(_WARM_UP, epochs / 10)
    share = 0.1 + 0.9 * min(epoch / warm_up, 1.0)
    return rate * share * 0.5 * (1 + math.cos(math.pi * min(epoch / epochs, 1.0)))


def crop(images: Tensor, padding: int) -> Tensor:
    """Each image moved by up to ``padding`` pixels in both directions, with zeros around it."""
    n, _, height, width = images.shape
    padded = torch.nn.functional.pad(images, (padding,) * 4)
    down, right = torch.randint(2 * padding + 1, (2, n, 1), device=images.device)
    rows = (down + torch.arange(height, device=images.device))[:, None, :, None]
    columns = (right + torch.arange(width, device=images.device))[:, None, None, :]
    every = torch.arange(n, device=images.device)[:, None, None, None]
    channels = torch.arange(images.shape[1], device=images.device)[None, :, None, None]
    return padded[every, channels, rows, columns]


def mirror(images: Tensor) -> Tensor:
    """Half of the images mirrored from left to right, chosen at random."""
    chosen = torch.rand(len(images), device=images.device) < 0.5
    return torch.where(chosen.view(-1, 1, 1, 1), images.flip(3), images)


def cut_out(images: Tensor, side: int) -> Tensor:
    """A square of ``side`` pixels set to 0 around a random pixel of each image (DeVries and Taylor, 2017)."""
    n, _, *sizes = images.shape
    inside = []
    for size in sizes:
        corner = torch.randint(size, (n, 1), device=images.device) - side // 2
        place = torch.arange(size, device=images.device)
        inside.append((place >= corner) & (place < corner + side))
    hidden = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    return images.masked_fill(hidden, 0.0)
