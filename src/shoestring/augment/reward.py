"""The net prediction gain: how much one training step on augmented images helps compared to the original images.

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021: Algorithm 2, lines 1-7, and Eq. 3.4.

The network and its twin must differ in nothing but the batch. So before each step the twin gets a copy of the weights,
the buffers (batch-norm statistics), the whole state of the optimiser and its settings (a scheduler changes the learning
rate), and both steps use the same dropout masks. The identity policy then has a gain of exactly 0 where arithmetic is
deterministic. The twin is created once and overwritten in place: a deep copy each step is about thirty times as slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from shoestring._torch import seed_torch
from shoestring.augment.replicas import Loss, Replicas
from shoestring.errors import ObjectiveError


class TwinNetworks:
    """A network, its optimiser, and a twin that is made equal before each step.

    With several ``devices`` each batch is shared among them; the network and its twin are on the first.
    """

    def __init__(
        self, model: Any, make_optimizer: Callable[[Any], Any], loss: Loss, devices: Sequence[torch.device] = ()
    ) -> None:
        self.model, self.twin, self._loss = model, deepcopy(model), loss
        self.optimizer = make_optimizer(model.parameters())
        self._twin_optimizer = make_optimizer(self.twin.parameters())
        devices = devices or [next(model.parameters()).device]
        self._replicas = {id(net): Replicas(net, devices) for net in (self.model, self.twin)}
        kinds = type(model).parameters, type(model).buffers
        self._pairs = [(list(values(self.twin)), list(values(model))) for values in kinds]

    def make_equal(self) -> None:
        """Line 1: copy the network and its optimiser to the twin."""
        with torch.no_grad():
            for mine, theirs in self._pairs:
                if mine:
                    torch._foreach_copy_(mine, theirs)
            self._copy_optimizer_state()
        for mine, theirs in zip(self._twin_optimizer.param_groups, self.optimizer.param_groups, strict=True):
            mine.update({name: value for name, value in theirs.items() if name != "params"})

    def train(self, images: Tensor, augmented: Tensor, labels: Tensor, seed: int) -> None:
        """Lines 2, 4 and 5: train the twin on the original images and the network on the augmented ones."""
        self._train(self.twin, self._twin_optimizer, images, labels, seed)
        self._train(self.model, self.optimizer, augmented, labels, seed)

    def gain(self, images: Tensor, labels: Tensor) -> float:
        """Lines 3, 6 and 7: the twin's loss on validation images minus the network's."""
        return self._validation_loss(self.twin, images, labels) - self._validation_loss(self.model, images, labels)

    def _train(self, model: Any, optimizer: Any, images: Tensor, labels: Tensor, seed: int) -> None:
        seed_torch(seed, images.device)
        optimizer.zero_grad(set_to_none=True)
        self._replicas[id(model)].backward(self._loss, images, labels)
        optimizer.step()

    def _validation_loss(self, model: Any, images: Tensor, labels: Tensor) -> float:
        return self._replicas[id(model)].loss(self._loss, images, labels)

    def _copy_optimizer_state(self) -> None:
        """Momentum and the like: tensors are copied in place, everything else is assigned."""
        targets, sources = [], []
        for mine, theirs in zip(_parameters(self._twin_optimizer), _parameters(self.optimizer), strict=True):
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
                    targets.append(state[name])
                    sources.append(value)
                else:
                    state[name] = value.clone()
        if targets:
            torch._foreach_copy_(targets, sources)


def _parameters(optimizer: Any) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def check_model(model: Any) -> None:
    """Refuse what cannot be trained."""
    if not isinstance(model, torch.nn.Module):
        raise ObjectiveError(f"model_factory() returned {type(model).__name__}; it must return a new torch.nn.Module")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ObjectiveError("the model of model_factory() has no trainable parameters")
