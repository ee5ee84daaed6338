"""The net prediction gain: what one training step on augmented images gives over the same step on the originals.

Reference: Algorithm 2, lines 1-7, and Eq. 3.4. The network and its twin must differ in nothing but the batch. So
before each step the twin takes over the weights, the buffers (batch-norm statistics), the whole state of the
optimiser and its settings (a scheduler changes the rate), and both steps draw the same dropout masks. The identity
policy then has a gain of exactly 0 where arithmetic is deterministic.

The twin is made once and overwritten in place: a deep copy each step costs some thirty times as much. Mixed precision
and the like are the model's own affair: put autocast into its ``forward``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from shoestring.errors import ObjectiveError

Loss = Callable[[Tensor, Tensor], Tensor]


class Twins:
    """A network, its optimiser, and a twin that is made equal before each step."""

    def __init__(self, model: Any, make_optimizer: Callable[[Any], Any], loss: Loss) -> None:
        self.model, self.twin, self._loss = model, deepcopy(model), loss
        self.optimizer, self._twin_optimizer = (
            make_optimizer(model.parameters()),
            make_optimizer(self.twin.parameters()),
        )
        self._pairs = [
            (list(values(self.twin)), list(values(model))) for values in (type(model).parameters, type(model).buffers)
        ]

    def make_equal(self) -> None:
        """Line 1: the twin becomes what the network is."""
        with torch.no_grad():
            for mine, theirs in self._pairs:
                if mine:
                    torch._foreach_copy_(mine, theirs)
            self._copy_optimizer_state()
        for mine, theirs in zip(self._twin_optimizer.param_groups, self.optimizer.param_groups, strict=True):
            mine.update({name: value for name, value in theirs.items() if name != "params"})

    def train(self, images: Tensor, augmented: Tensor, labels: Tensor, seed: int) -> None:
        """Lines 2, 4 and 5: the twin learns from the original images, the network from the augmented ones."""
        self._train(self.twin, self._twin_optimizer, images, labels, seed)
        self._train(self.model, self.optimizer, augmented, labels, seed)

    def gain(self, images: Tensor, labels: Tensor) -> float:
        """Lines 3, 6 and 7: by how much the network's loss on validation images is below its twin's."""
        return self._validated(self.twin, images, labels) - self._validated(self.model, images, labels)

    def _train(self, model: Any, optimizer: Any, images: Tensor, labels: Tensor, seed: int) -> None:
        torch.manual_seed(seed)
        model.train()
        optimizer.zero_grad(set_to_none=True)
        self._loss(model(images), labels).backward()
        optimizer.step()

    def _validated(self, model: Any, images: Tensor, labels: Tensor) -> float:
        model.eval()
        with torch.no_grad():
            return float(self._loss(model(images), labels))

    def _copy_optimizer_state(self) -> None:
        """Momentum and the like: tensors in place, everything else as it is."""
        to, of = [], []
        for mine, theirs in zip(self._parameters(self._twin_optimizer), self._parameters(self.optimizer), strict=True):
            source, target = self.optimizer.state.get(theirs), self._twin_optimizer.state
            if source is None:
                target.pop(mine, None)
                continue
            state = target.setdefault(mine, {})
            for name in state.keys() - source.keys():
                del state[name]
            for name, value in source.items():
                if not torch.is_tensor(value):
                    state[name] = value
                elif torch.is_tensor(state.get(name)):
                    to.append(state[name])
                    of.append(value)
                else:
                    state[name] = value.clone()
        if to:
            torch._foreach_copy_(to, of)

    @staticmethod
    def _parameters(optimizer: Any) -> list[Tensor]:
        return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def checked_model(model: Any) -> Any:
    """The model, if it is one that can be trained."""
    if not isinstance(model, torch.nn.Module):
        raise ObjectiveError(f"model_factory() gave {type(model).__name__}; it must give a new torch.nn.Module")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ObjectiveError("the model of model_factory() has no parameters to train")
    return model
