"""The training of a self-tuning network: in every round it is trained, and tuned if a bandit or a schedule says so.

A training step fits the weights around the current hyper-parameters: every example has its own perturbation of them,
and with it its dropout rates and its augmentation. A tuning step changes the hyper-parameters, and the widths of the
perturbations, along the gradient of the loss of a validation batch without dropout and augmentation, less ``entropy``
times the entropy of the perturbations, without which the widths would go to zero. In a round that tunes, every training
step is followed by a tuning step.

References: MacKay, Vicol, Lorraine, Duvenaud and Grosse, Self-tuning networks, ICLR 2019, Algorithm 1; Wang, Ren,
Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization, ACML 2021, section 5.2: the two arms,
and the reward, which is the gain of a round in accuracy on the whole validation set, in per cent.

In tuning steps batch normalisation uses its running statistics, so that no validation example enters them. What is
drawn at a step follows from (seed, step), so a training that was killed continues from its state file exactly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shoestring._arrays import Codes
from shoestring._torch import EpochRows, Rows, Stream, read_checkpoint, seed_torch, settings_of, write_checkpoint
from shoestring.core.randomness import generator, integer
from shoestring.errors import MethodError, SpaceError, StudyMismatch
from shoestring.online.networks.layers import SelfTuning
from shoestring.online.training import OnlineTraining
from shoestring.online.tuner import OnlineTuner

ARMS = ("train only", "tune and train")
_FORMAT = 1
_EVALUATED = 512  # examples at a time
_PROBED = 64  # examples that identify a dataset

Augment = Callable[[Tensor, dict[str, Tensor]], Tensor]


@dataclass(frozen=True)
class RoundOfTraining:
    """A round: its ``number``, whether it ``tuned`` and ``looked``, and what it led to.

    ``loss`` is the mean loss of its training batches, and ``hyper`` the hyper-parameters after it.
    """

    number: int
    tuned: bool
    looked: bool
    loss: float
    hyper: dict[str, float]


def _sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def _adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, lr=0.01)


class Training:
    """Train ``network``, a ``SelfTuning``, on ``train``, and tune its hyper-parameters on ``valid``.

    * ``train`` and ``valid``: (inputs, labels) as tensors, or datasets with ``len()`` and items (input, label), which
      are read batch by batch, ahead of time by ``workers`` processes.
    * ``tunes``: an ``OnlineTuner`` of the two ``ARMS``, which decides in every round whether to tune, or a function of
      the number of the round, from 0, that returns whether to.
    * ``steps``: the training steps of a round, by default an epoch; ``batch``: the size of the batches.
    * ``augment(inputs, values)``: augments a training batch; ``values`` has the hyper-parameters of each example.
    * ``optimizer(parameters)`` and ``tuning_optimizer(parameters)``: of the weights, by default SGD with learning rate
      .1 and momentum .9, and of the hyper-parameters, by default Adam with .01. ``scheduler(optimizer)`` is that of the
      weights, advanced after every round; ``loss``: of outputs and labels; ``entropy``: the weight of the entropy.
    * ``state``: a file that is written after every round. A training with the same file continues from it.
    * ``seed``: of all draws but the initial weights; ``device``: where to train.

    ``rounds`` has a ``RoundOfTraining`` for each round so far.
    """

    def __init__(
        self,
        network: SelfTuning,
        train: Any,
        valid: Any,
        *,
        tunes: OnlineTuner | Callable[[int], bool],
        steps: int | None = None,
        batch: int = 128,
        augment: Augment | None = None,
        optimizer: Callable[[Any], Any] = _sgd,
        tuning_optimizer: Callable[[Any], Any] = _adam,
        scheduler: Callable[[Any], Any] | None = None,
        loss: Callable[[Tensor, Tensor], Tensor] = torch.nn.functional.cross_entropy,
        entropy: float = 1e-3,
        workers: int = 0,
        seed: int = 0,
        state: str | os.PathLike[str] | None = None,
        device: Any = "cpu",
    ) -> None:
        self.network, self.rounds = network.to(device), list[RoundOfTraining]()
        self._device, self._seed, self._augment, self._loss = torch.device(device), seed, augment, loss
        self._workers = workers
        self._train, self._valid = _Data(train, "train", workers), _Data(valid, "valid", workers)
        if batch < 1 or (steps is not None and steps < 1):
            raise MethodError(f"steps={steps!r} and batch={batch!r} are not possible: both must be at least 1")
        order = EpochRows(seed, len(self._train), batch)
        self._steps = order.steps if steps is None else steps
        self._train_batch = self._train.batches(order)
        self._valid_batch = self._valid.batches(self._validation_rows(min(batch, len(self._valid))))
        self._entropy = entropy
        self._optimizer = optimizer(network.weights())
        self._tuned = [p for p in network.hyper.parameters() if p.requires_grad]
        self._tuning_optimizer = tuning_optimizer(self._tuned)
        self._scheduler = None if scheduler is None else scheduler(self._optimizer)
        self._tunes, self._online = tunes, None
        if isinstance(tunes, OnlineTuner):
            self._online = OnlineTraining(tunes, measure=lambda: self.evaluate(valid)[1], scale=100.0)
        self._tunings = 0  # tuning steps so far
        self._description = json.dumps({
            "seed": seed, "steps": self._steps, "batch": batch, "entropy": entropy,
            "hyper-parameters": list(network.hyper.names), "data": [self._train.digest(), self._valid.digest()],
            "weights": sum(weight.numel() for weight in network.weights()),
            **settings_of("optimizer", self._optimizer),
            **settings_of("tuning_optimizer", self._tuning_optimizer), **settings_of("scheduler", self._scheduler),
        })  # fmt: skip
        self._path = None if state is None else Path(state)
        if self._path is not None and self._path.exists():
            self._restore(self._path)

    def run(self, rounds: int) -> None:
        """Train until there have been ``rounds`` rounds in all, those of a continued training included."""
        devices = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):  # dropout reads torch's global generator
            while len(self.rounds) < rounds:
                self.round()

    def round(self) -> RoundOfTraining:
        """One more round, and the state file after it."""
        number = len(self.rounds)
        tunes, losses, looked = self._begin(number), 0.0, False
        for step in range(number * self._steps, (number + 1) * self._steps):
            losses += self._train_step(step)
            if tunes:
                self._tune_step()
        if self._online is not None:
            looked = self._online.end()
        if self._scheduler is not None:
            self._scheduler.step()
        hyper = {name: float(value.detach()) for name, value in self.network.hyper.values().items()}
        self.rounds.append(RoundOfTraining(number, tunes, looked, losses / self._steps, hyper))
        if self._path is not None:
            write_checkpoint(self._content(), self._path, "training")
        return self.rounds[-1]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def evaluate(self, data: Any) -> tuple[float, float]:
        """The mean loss and the accuracy on a dataset, with the current hyper-parameters."""
        source = _Data(data, "data", self._workers)
        parts = np.array_split(np.arange(len(source)), -(-len(source) // _EVALUATED))
        batches = source.batches(lambda index: parts[min(index, len(parts) - 1)])  # workers read ahead of the end
        self.network.eval()
        loss = right = 0.0
        for index in range(len(parts)):
            inputs, labels = self._move(batches(index))
            outputs = self.network(inputs)
            loss += float(self._loss(outputs, labels)) * len(labels)
            right += float((outputs.argmax(1) == labels).sum())
        return loss / len(source), right / len(source)

    def _begin(self, number: int) -> bool:
        if self._online is None:
            return bool(self._tunes(number))  # type: ignore[operator]
        arm = self._online.begin()
        if arm not in ARMS:
            raise MethodError(f"the tuner chose {arm!r}; give it the arms of shoestring.online.networks.ARMS")
        return bool(arm == ARMS[1])

    def _train_step(self, step: int) -> float:
        inputs, labels = self._move(self._train_batch(step))
        seed_torch(integer(self._seed, step, "training"), self._device)
        self.network.train()
        raw = self.network.hyper.sample(len(labels)).detach()
        if self._augment is not None:
            inputs = self._augment(inputs, self.network.hyper.values(raw))
        loss = self._loss(self.network(inputs, raw), labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())

    def _tune_step(self) -> None:
        inputs, labels = self._move(self._valid_batch(self._tunings))
        seed_torch(integer(self._seed, self._tunings, "tuning"), self._device)
        self.network.eval()
        hyper = self.network.hyper
        loss = self._loss(self.network(inputs, hyper.sample(len(labels))), labels) - self._entropy * hyper.entropy()
        for parameter, slope in zip(self._tuned, torch.autograd.grad(loss, self._tuned), strict=True):
            parameter.grad = slope
        self._tuning_optimizer.step()
        self._tunings += 1

    def _validation_rows(self, size: int) -> Rows:
        def rows(index: int) -> Codes:
            return generator(self._seed, index, "validation").choice(len(self._valid), size, replace=False)

        return rows

    def _move(self, batch: Any) -> tuple[Tensor, Tensor]:
        inputs, labels = batch
        return inputs.to(self._device, non_blocking=True), labels.to(self._device, non_blocking=True)

    def _content(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "description": self._description,
            "network": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "tuning_optimizer": self._tuning_optimizer.state_dict(),
            "scheduler": self._scheduler and self._scheduler.state_dict(),
            "online": self._online and self._online.state_dict(),
            "tunings": self._tunings,
            "rounds": [asdict(line) for line in self.rounds],
        }

    def _restore(self, path: Path) -> None:
        content = read_checkpoint(path, _FORMAT, "training")
        saved, given = json.loads(content["description"]), json.loads(self._description)
        known = [name for name in given if name in saved]  # files of earlier versions have fewer
        differ = [f"{name} is {saved[name]!r} in the file, {given[name]!r} was given"
                  for name in known if saved[name] != given[name]]  # fmt: skip
        parts = {"scheduler": self._scheduler, "online": self._online}
        differ += [f"only one of the two has a {'tuner' if name == 'online' else name}" for name, part in parts.items()
                   if (content[name] is None) != (part is None)]  # fmt: skip
        if differ:
            raise StudyMismatch(f"{path} holds another training: {'; '.join(differ)}. Give another state=")
        self.network.load_state_dict(content["network"])
        self._optimizer.load_state_dict(content["optimizer"])
        self._tuning_optimizer.load_state_dict(content["tuning_optimizer"])
        if self._scheduler is not None:
            self._scheduler.load_state_dict(content["scheduler"])
        if self._online is not None:
            self._online.load_state_dict(content["online"])
        self._tunings = content["tunings"]
        self.rounds = [RoundOfTraining(**line) for line in content["rounds"]]


class _Data:
    """Examples by row: tensors that are held, or a dataset that is read where it is needed."""

    def __init__(self, given: Any, name: str, workers: int) -> None:
        self._held = isinstance(given, (tuple, list)) and len(given) == 2 and all(torch.is_tensor(p) for p in given)
        if not self._held and not (hasattr(given, "__getitem__") and hasattr(given, "__len__")):
            raise SpaceError(f"{name} is {type(given).__name__}; give tensors (inputs, labels) or a dataset")
        self._given, self._workers = given, workers
        if not len(self):
            raise SpaceError(f"{name} is empty")
        if self._held and len(given[0]) != len(given[1]):
            raise SpaceError(f"{name} has {len(given[0])} inputs and {len(given[1])} labels")

    def __len__(self) -> int:
        return len(self._given[1] if self._held else self._given)

    def take(self, rows: Codes) -> Any:
        if self._held:
            index = torch.from_numpy(rows).to(self._given[0].device)
            return self._given[0][index], self._given[1][index]
        return torch.utils.data.default_collate([self._given[int(row)] for row in rows])

    def batches(self, rows: Rows) -> Callable[[int], Any]:
        if self._held:
            return lambda index: self.take(rows(index))
        return Stream(self._given, rows, torch.utils.data.default_collate, self._workers)

    def digest(self) -> str:
        """A hash of the length, the shape and some labels; a dataset may change its inputs at random."""
        rows = torch.linspace(0, len(self) - 1, min(_PROBED, len(self))).long().numpy()
        inputs, labels = self.take(rows)
        content = f"{len(self)} {tuple(inputs.shape[1:])} {labels.tolist()}"
        return blake2b(content.encode(), digest_size=8).hexdigest()
