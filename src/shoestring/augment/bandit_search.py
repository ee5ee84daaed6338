"""The search: a bandit plays augmentation policies while networks are trained, within a hard budget.

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021: Algorithm 1. A first pass plays policies one after the other (lines 2-4). Then each
of ``rounds`` rounds trains a new network while policies are sampled by softmax(−LCB) (lines 5-11), and after each round
a pruning rule (:mod:`~shoestring.augment.pruning`) decides which policies stay active (line 12).

Differs from the thesis in that the budget sets the length. The first pass takes the 7,650 policies of the first
magnitude stage (all 22,500, as in line 2 of Algorithm 1, with ``first_pass="all"``), but at most half of the steps,
spread evenly over the pairs; the rounds share the rest evenly.

Everything drawn at a step follows from (seed, step, purpose), so a search that was killed and continued from its
checkpoint gives the same result. A step costs two training steps and two validations.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from shoestring._arrays import Codes, Mask
from shoestring._torch import seed_torch
from shoestring.augment.bandit import Bandit
from shoestring.augment.checkpoint import Checkpoint
from shoestring.augment.estimates import Estimate, check_choice
from shoestring.augment.images import Batches, as_floats
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import PAIRS, PER_PAIR, POLICIES, Policy, decode
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.progress import show_progress
from shoestring.augment.pruning import Pruning, first_policies, next_policies
from shoestring.augment.replicas import Loss
from shoestring.augment.reward import TwinNetworks, check_model
from shoestring.core.budget import Budget, as_budget
from shoestring.core.randomness import generator, integer
from shoestring.core.workers import ticks
from shoestring.errors import BudgetError, MethodError, ObjectiveError

FirstPass = Literal["stage", "all"]
_MEASURED = 20  # steps after which a budget in seconds is translated into steps
_UNKNOWN = 10**9  # the length of a round before that: a scheduler then keeps the learning rate unchanged
_DIVERGED = 20  # the search fails after this many plays in a row without a finite loss


@dataclass(frozen=True)
class Settings:
    """The options of a search that are plain values: with the same data they give the same search."""

    rounds: int
    initial: int | None
    batch: int
    valid_batch: int
    estimate: Estimate
    pruning: Pruning
    seed: int
    first_pass: FirstPass = "stage"

    def __post_init__(self) -> None:
        for name in ("rounds", "batch", "valid_batch"):
            if getattr(self, name) < 1:
                raise MethodError(f"{name}={getattr(self, name)!r} is not possible: it must be at least 1")
        if self.initial is not None and self.initial < 0:
            raise MethodError(f"initial={self.initial!r} is not possible: give a number of steps, 0 for no first pass")
        check_choice("estimate", self.estimate, Estimate)
        check_choice("pruning", self.pruning, Pruning)
        check_choice("first_pass", self.first_pass, FirstPass)

    def first_policies(self) -> Mask:
        """The policies of the first pass."""
        return np.ones(POLICIES, dtype=bool) if self.first_pass == "all" else first_policies(self.pruning)


@dataclass(frozen=True)
class Training:
    """The functions that create and train networks: the options of a search that are not plain values."""

    model_factory: Callable[[], Any]
    optimizer: Callable[[Any], Any]
    scheduler: Callable[[Any, int], Any]
    loss: Loss
    prepare: Callable[[Any], Any]
    devices: tuple[torch.device, ...]

    @property
    def device(self) -> torch.device:
        return self.devices[0]


def _sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=2e-4)


def _cosine(optimizer: Any, steps: int) -> Any:
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))


def search(
    model_factory: Callable[[], Any],
    train: Any,
    valid: Any,
    *,
    budget: Any,
    rounds: int = 10,
    initial: int | None = None,
    batch: int = 32,
    valid_batch: int = 128,
    optimizer: Callable[[Any], Any] = _sgd,
    scheduler: Callable[[Any, int], Any] = _cosine,
    loss: Loss = torch.nn.functional.cross_entropy,
    prepare: Callable[[Any], Any] = as_floats,
    estimate: Estimate = "shrunk",
    pruning: Pruning = "eop",
    first_pass: FirstPass = "stage",
    seed: int = 0,
    state: str | os.PathLike[str] | None = None,
    save_every: int = 500,
    device: Any = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> PolicySet:
    """Rank augmentation policies by how much they lower a model's loss on ``valid`` while it is trained on ``train``.

    ``model_factory()`` returns a new network; ``train`` and ``valid`` are (images, labels) or datasets. ``budget`` is
    in steps, seconds or both, such as ``"20000 steps"`` or ``"1h"``. ``optimizer(parameters)`` is by default SGD with
    learning rate .05 and momentum .9, ``scheduler(optimizer, steps)`` a cosine over the round; ``prepare(images)``
    turns a batch of images into the network's input, and ``loss(outputs, labels)`` is what is lowered.

    A first pass of ``initial`` steps (by default half of the budget, at most one for each policy) plays policies of
    every pair: those of the first magnitude stage, 7,650, or with ``first_pass="all"`` all 22,500. Then come
    ``rounds``, each with a new network; after each, ``pruning`` ("eop", "sh" or "none") drops policies. ``estimate``
    ("shrunk" or "mean") is the mean reward by which policies are ranked. Steps train on ``batch`` images and measure
    on ``valid_batch``. ``seed`` fixes every draw, and ``progress`` shows or hides the progress. With ``state`` the
    search is saved to that file after every round and every ``save_every`` steps, and the same call continues from it.

    ``device`` is PyTorch's; several, as a list, share every batch. A dataset is read once as a whole; with a number of
    ``workers`` it is read batch by batch, ahead of time by that many processes, or here if it is 0.
    """
    settings = Settings(rounds, initial, batch, valid_batch, estimate, pruning, seed, first_pass)
    training = Training(model_factory, optimizer, scheduler, loss, prepare, as_devices(device))
    # Dropout reads torch's global generator; the caller's state is restored afterwards.
    with torch.random.fork_rng(devices=[d for d in training.devices if d.type == "cuda"]):
        batches = Batches(train, valid, batch, valid_batch, seed, training.device, workers)
        run = Search(settings, training, batches, _read_budget(budget))
        checkpoint = Checkpoint(state)
        checkpoint.restore(run)
        with show_progress(run, progress):
            run.run(checkpoint, save_every)
    return run.result()


def as_devices(given: Any) -> tuple[torch.device, ...]:
    """One device or several, by default the processor."""
    several = isinstance(given, (list, tuple))
    if several and not given:
        raise MethodError("device=[] is not possible: give a device, or several in a list")
    return tuple(torch.device(name) for name in (given if several else [given or "cpu"]))


def _read_budget(given: Any) -> Budget:
    budget = as_budget(given)
    other = [unit for unit in budget.limited if unit not in ("steps", "seconds")]
    if other:
        raise BudgetError(f"a search of augmentation is limited in steps or seconds, not in {', '.join(other)}")
    return budget


class Search:
    """A search in progress: its position, the bandit, and the network of the current round."""

    def __init__(self, settings: Settings, training: Training, batches: Batches, budget: Budget) -> None:
        self.settings, self.training, self.batches, self.budget = settings, training, batches, budget
        self._first = settings.first_policies()
        self.bandit = Bandit(active=first_policies(settings.pruning))
        self.stages: Codes = np.zeros(PAIRS, dtype=np.int64)
        self.step = 0  # search steps done
        self.round = 0  # 0 is the first pass
        self.round_start = 0  # the step at which the round started
        self.seconds = 0.0
        self.total = budget.steps
        self.networks: TwinNetworks | None = None
        self.scheduler: Any = None
        self._diverged = 0

    @property
    def finished(self) -> bool:
        out_of_time = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return out_of_time or self.round > self.settings.rounds

    def run(self, checkpoint: Checkpoint, save_every: int) -> None:
        """Search until the budget is used up."""
        earlier, started, saved = self.seconds, ticks(), self.step
        while not self.finished:
            if self.step < self._round_end():
                self._play()
                self.seconds = earlier + ticks() - started
                if self.total is None and self.step >= _MEASURED:
                    # A new network, because the scheduler of this one does not know the length of the round.
                    self.total, self.networks = self._affordable_steps(), None
                if self.step - saved < save_every:
                    continue
            else:
                self._close_round()
            checkpoint.save(self)
            saved = self.step
        checkpoint.save(self)

    def result(self) -> PolicySet:
        """The ranking so far."""
        about = {
            "steps": self.step, "rounds": max(self.round - 1, 0),
            "pruning": self.settings.pruning, "seed": self.settings.seed,
        }  # fmt: skip
        return PolicySet.from_bandit(self.bandit, self.settings.estimate, about)

    def start_network(self) -> TwinNetworks:
        """Create the network of the round, even when continuing from a checkpoint."""
        seed_torch(integer(self.settings.seed, self.round, "network"), self.training.device)
        model = self.training.model_factory()
        check_model(model)
        self.networks = TwinNetworks(
            model.to(self.training.device), self.training.optimizer, self.training.loss, self.training.devices
        )
        self.scheduler = self.training.scheduler(self.networks.optimizer, self._round_end() - self.round_start)
        return self.networks

    def _affordable_steps(self) -> int:
        """Return how many steps fit into a budget in seconds, at the speed so far."""
        return max(int(float(self.budget.seconds or 0.0) / max(self.seconds, 1e-9) * self.step), self.step)

    def _round_end(self) -> int:
        """The step before which the current round ends; with a budget in seconds it is known after a few steps."""
        if self.total is None:
            return _UNKNOWN
        initial = self.settings.initial
        first = min(int(self._first.sum()), self.total // 2) if initial is None else min(initial, self.total)
        return first + (self.total - first) * self.round // self.settings.rounds

    def _close_round(self) -> None:
        """Algorithm 1, line 12, and line 6 of the next round."""
        if self.round > 0:
            self.bandit.active = next_policies(
                self.settings.pruning, self.round, self.bandit, self.stages, self.settings.estimate,
                generator(self.settings.seed, self.round, "prune"),
            )  # fmt: skip
        self.round, self.round_start, self.networks = self.round + 1, self.step, None

    def _play(self) -> None:
        """Algorithm 2 for the next batch."""
        networks, prepare = self.networks or self.start_network(), self.training.prepare
        policy = self._next_policy()
        networks.make_equal()
        images, labels = self.batches.training(self.step)
        draws = generator(self.settings.seed, self.step, "augment").random((2, len(images), DRAWS))
        augmented = apply_policies(images, *decode(policy), draws)
        networks.train(prepare(images), prepare(augmented), labels, integer(self.settings.seed, self.step, "dropout"))
        images, labels = self.batches.validation(self.step)
        self._record(policy, networks.gain(prepare(images), labels))
        self.scheduler.step()
        self.step += 1

    def _record(self, policy: int, gain: float) -> None:
        """Update the bandit; a network whose loss is no longer finite is replaced by a new one."""
        self.bandit.update(policy, gain)
        if math.isfinite(gain):
            self._diverged = 0
            return
        self._diverged, self.networks = self._diverged + 1, None
        if self._diverged >= _DIVERGED:
            raise ObjectiveError(
                f"the validation loss was not finite in {_DIVERGED} plays in a row, the last with "
                f"{Policy.at(policy)}; check the model, or give an optimizer= with a smaller learning rate"
            )

    def _next_policy(self) -> int:
        if self.round == 0:
            return int(self._first_order[self.step % len(self._first_order)])
        return self.bandit.sample(generator(self.settings.seed, self.step, "policy"))

    @cached_property
    def _first_order(self) -> Codes:
        """The policies of the first pass in random order, one of each pair before the second of any."""
        rng = generator(self.settings.seed, 0, "first pass")
        mask = self._first.reshape(PAIRS, PER_PAIR)
        turn = np.where(mask, rng.random(mask.shape), 2.0).argsort(axis=1).argsort(axis=1)
        policies = np.flatnonzero(mask)
        return policies[np.lexsort((rng.random(len(policies)), turn.ravel()[policies]))]
