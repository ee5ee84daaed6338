"""The scaled-down setting: small images, a small network, how it is trained and tested.

500 training and 1,000 validation images at half their size; all other 4,500 are for testing only. The split is the
same for every seed; what varies is the seed of the search and the seed of the training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.harness.recorded import DATA
from shoestring.augment.datasets import small_network
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import decode
from shoestring.core.randomness import generator, integer

TRAIN, VALID = 500, 1000
EPOCHS, BATCH, RATE = 60, 32, 0.05


@dataclass(frozen=True)
class Split:
    train: tuple[Any, Any]
    valid: tuple[Any, Any]
    test: tuple[Any, Any]


@cache
def split(name: str) -> Split:
    """Training, validation and test images of ``cifar10`` or ``fashion_mnist``."""
    with np.load(DATA / "images" / f"{name}_small.npz") as stored:
        x = np.concatenate([_halved(stored["x_train"]), _halved(stored["x_valid"])])
        y = np.concatenate([stored["y_train"], stored["y_valid"]])
    images, labels = torch.from_numpy(x), torch.from_numpy(y).long()
    order = np.random.default_rng(0).permutation(5000)
    train, valid = order[:TRAIN], order[TRAIN : TRAIN + VALID]
    test = np.setdiff1d(np.arange(len(y)), np.concatenate([train, valid]))
    return Split(*((images[rows], labels[rows]) for rows in map(torch.from_numpy, (train, valid, test))))


def _halved(x: Any) -> Any:
    """Half the height and width, (n, channels, height, width), uint8."""
    x = x[..., None] if x.ndim == 3 else x
    n, height, width, channels = x.shape
    small = x.reshape(n, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
    return np.ascontiguousarray(np.round(small).astype(np.uint8).transpose(0, 3, 1, 2))


def network(channels: int) -> nn.Module:
    """Three convolutions with batch-norm, 24,000 weights."""
    return small_network(channels, classes=10)


class Residual(nn.Module):
    """x + f(x), f two convolutions with batch-norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        convolutions = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        first, second = ((layer, nn.BatchNorm2d(width)) for layer in convolutions)
        self.body = nn.Sequential(*first, nn.ReLU(), *second)

    def forward(self, x: Any) -> Any:
        return torch.relu(x + self.body(x))


def residual_network(channels: int) -> nn.Module:
    """A second architecture: two residual blocks of 24 channels at half the size, 23,000 weights."""
    start = (nn.Conv2d(channels, 24, 3, 2, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU())
    return nn.Sequential(*start, Residual(24), Residual(24), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))


def optimizer(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=RATE, momentum=0.9, weight_decay=2e-4)


def trained(name: str, policies: Any, seed: int, epochs: int = EPOCHS, architecture: str = "small") -> dict[str, float]:
    """Accuracy in per cent and loss on the test images, of a network trained with the policies (None: as they are)."""
    return tested(network_trained(name, policies, seed, epochs, architecture), split(name).test)


def network_trained(
    name: str, policies: Any, seed: int, epochs: int = EPOCHS, architecture: str = "small"
) -> nn.Module:
    images, labels = split(name).train
    torch.manual_seed(integer(seed, 0, "network"))
    model = {"small": network, "residual": residual_network}[architecture](images.shape[1])
    steps = epochs * (TRAIN // BATCH)
    optim = optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optim, steps)
    for epoch in range(epochs):
        rng = generator(seed, epoch, "epoch")
        x = augmented(images, policies, rng).float() / 255
        for rows in torch.from_numpy(rng.permutation(TRAIN))[: steps // epochs * BATCH].split(BATCH):
            optim.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optim.step()
            schedule.step()
    return model


def augmented(images: Any, policies: Any, rng: np.random.Generator) -> Any:
    """Every image under a policy of its own."""
    if policies is None:
        return images
    operations, levels = decode(np.asarray(policies)[rng.integers(len(policies), size=len(images))])
    return apply_policies(images, operations, levels, rng.random((2, len(images), DRAWS)))


@torch.no_grad()
def tested(model: nn.Module, test: tuple[Any, Any]) -> dict[str, float]:
    model.eval()
    scores = torch.cat([model(part.float() / 255) for part in test[0].split(500)])
    accuracy = (scores.argmax(1) == test[1]).float().mean()
    return {"accuracy": 100 * float(accuracy), "loss": float(nn.functional.cross_entropy(scores, test[1]))}
