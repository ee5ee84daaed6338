"""A network on one device, or copies of it on several that share the work of every batch.

The gradient of a batch is the mean over its images, so it does not depend on how they are shared, but for batch
normalisation: every device normalises its own images, and the statistics that are kept are those of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import torch
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]


class Replicas:
    """The ``model`` on the first of the ``devices``, and a copy of it on each other one."""

    def __init__(self, model: Any, devices: Sequence[torch.device]) -> None:
        self._models = [model, *(deepcopy(model).to(device) for device in devices[1:])]
        self._devices = list(devices)

    def backward(self, loss: Loss, images: Tensor, labels: Tensor) -> float:
        """Add the gradient of the mean loss of a batch to that of the model; the loss must be a mean over images."""
        parts = self._parts(images, labels, train=True)
        losses = [loss(model(x), y) * (len(y) / len(labels)) for model, x, y in parts]
        for part in losses:  # all devices work before the first is waited for
            part.backward()
        for model, _, _ in parts[1:]:
            _add_gradients(self._models[0], model)
        return sum(float(part.detach()) for part in losses)

    def loss(self, loss: Loss, images: Tensor, labels: Tensor) -> float:
        """The mean loss of a batch in evaluation mode."""
        with torch.no_grad():
            parts = [loss(model(x), y) * (len(y) / len(labels)) for model, x, y in self._parts(images, labels, False)]
        return sum(float(part) for part in parts)

    def outputs(self, images: Tensor) -> Tensor:
        """The outputs for a batch in evaluation mode, on the first device."""
        with torch.no_grad():
            parts = [model(x) for model, x, _ in self._parts(images, images, train=False)]
        return torch.cat([part.to(self._devices[0]) for part in parts])

    def _parts(self, images: Tensor, labels: Tensor, train: bool) -> list[tuple[Any, Tensor, Tensor]]:
        """Each model that has work, equal to the first, with its share of the batch."""
        count = len(self._models)
        shares = zip(self._models, self._devices, images.chunk(count), labels.chunk(count), strict=False)
        parts = [(model, x.to(device), y.to(device)) for model, device, x, y in shares]
        for model, _, _ in parts:
            model.train(train)
            if model is not self._models[0]:
                _copy(self._models[0], model)
                model.zero_grad(set_to_none=True)
        return parts


def _copy(source: Any, target: Any) -> None:
    pairs = chain(
        zip(source.parameters(), target.parameters(), strict=True), zip(source.buffers(), target.buffers(), strict=True)
    )
    with torch.no_grad():
        for theirs, mine in pairs:
            mine.copy_(theirs, non_blocking=True)


def _add_gradients(target: Any, source: Any) -> None:
    for mine, theirs in zip(target.parameters(), source.parameters(), strict=True):
        if theirs.grad is None:
            continue
        slope = theirs.grad.to(mine.device)
        mine.grad = slope if mine.grad is None else mine.grad + slope
