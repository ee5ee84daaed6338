"""The search: a bandit plays augmentation policies while networks are trained, within a hard budget.

Reference: Algorithm 1. A first pass plays policies one after the other (lines 2-4), then ``rounds`` rounds train a
new network each and sample policies by softmax(−LCB) (lines 5-11), and after each round the rule of
:mod:`~shoestring.augment.pruning` decides which stay (line 12).

Differs from the thesis in what sets the length: the budget does. The first pass takes the 7,650 policies of the first
magnitude stage, but at most half of the steps, spread evenly over the pairs; the rounds share the rest evenly.

What is drawn at a step follows from (seed, step, purpose), so a search that was killed and continued from its file
goes the way it would have gone. Cost of a step: two training steps and two validations.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from shoestring.augment.bandit import Bandit, Integers
from shoestring.augment.estimates import ESTIMATES
from shoestring.augment.gain import Loss, Twins, checked_model
from shoestring.augment.images import Images, as_floats, as_images
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import PAIRS, PER_PAIR, decoded, policy_at
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.pruning import rule
from shoestring.augment.saving import SavedSearch
from shoestring.augment.watching import watched
from shoestring.core.budget import Budget, as_budget
from shoestring.core.randomness import generator, integer
from shoestring.core.workers import ticks
from shoestring.errors import BudgetError, MethodError, ObjectiveError, SpaceError

_MEASURED = 20  # steps after which a budget in seconds is translated into steps
_UNKNOWN = 10**9  # the length of a round before that: a scheduler then keeps the rate as it is
_DIVERGED = 20  # so many plays in a row without a finite loss end the search


@dataclass(frozen=True)
class Settings:
    """What a search does, as plain values: two searches with the same settings and data go the same way."""

    rounds: int
    initial: int | None
    batch: int
    valid_batch: int
    estimate: str
    pruning: str
    C: float
    seed: int
    repeats: int

    def __post_init__(self) -> None:
        counts = {name: getattr(self, name) for name in ("rounds", "batch", "valid_batch", "repeats")}
        for name, value in counts.items():
            if value < 1:
                raise MethodError(f"{name}={value!r} is not possible: at least 1 is needed")
        if self.initial is not None and self.initial < 0:
            raise MethodError(
                f"initial={self.initial!r} is not possible: a number of steps is needed, 0 for no first pass"
            )
        if self.estimate not in ESTIMATES:
            raise MethodError(f"estimate={self.estimate!r} is not known; there are {', '.join(map(repr, ESTIMATES))}")
        rule(self.pruning)


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
    optimizer: Callable[[Any], Any] | None = None,
    scheduler: Callable[[Any, int], Any] | None = None,
    loss: Loss | None = None,
    prepare: Callable[[Any], Any] = as_floats,
    estimate: str = "shrunk",
    pruning: str = "eop",
    C: float = 1.0,
    repeats: int = 1,
    seed: int = 0,
    state: str | os.PathLike[str] | None = None,
    save_every: int = 500,
    device: Any = None,
    progress: bool | None = None,
) -> PolicySet:
    """Find out which augmentation policies help a model to learn from ``train`` what ``valid`` asks.

    ``model_factory()`` gives a new network; ``train`` and ``valid`` are (images, labels) or datasets. ``budget`` is
    in steps, seconds or both, such as ``"20000 steps"`` or ``"1h"``. ``optimizer(parameters)`` is by default SGD with
    rate .05 and momentum .9, ``scheduler(optimizer, steps)`` a cosine over the round; ``prepare(images)`` turns a
    batch of images into what the network takes. ``repeats`` steps in a row play the same policy and give one reward.
    With ``state`` the search is written to that file after every round and every ``save_every`` steps, and the same
    call continues from it.
    """
    settings = Settings(rounds, initial, batch, valid_batch, estimate, pruning, C, seed, repeats)
    parts = Parts(
        model_factory,
        optimizer or _sgd,
        scheduler or _cosine,
        loss or torch.nn.functional.cross_entropy,
        prepare,
        torch.device(device) if device is not None else torch.device("cpu"),
    )
    # Dropout reads torch's global generator; the caller's is given back as it was.
    devices = [parts.device] if parts.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        run = Search(settings, parts, as_images(train, "train"), as_images(valid, "valid"), _checked(budget))
        file = SavedSearch(Path(state)) if state is not None else None
        if file is not None:
            file.restore(run)
        with watched(run, progress):
            run.run(file, save_every)
    return run.result()


def _sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=2e-4)


def _cosine(optimizer: Any, steps: int) -> Any:
    return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))


def _checked(given: Any) -> Budget:
    budget = as_budget(given)
    other = [unit for unit in budget.limited if unit not in ("steps", "seconds")]
    if other:
        raise BudgetError(f"a search of augmentation is limited in steps or seconds, not in {', '.join(other)}")
    return budget


@dataclass(frozen=True)
class Parts:
    """What the user gives that is no plain value."""

    model_factory: Callable[[], Any]
    optimizer: Callable[[Any], Any]
    scheduler: Callable[[Any, int], Any]
    loss: Loss
    prepare: Callable[[Any], Any]
    device: torch.device


class Search:
    """A search under way: where it stands, the bandit, and the network of the current round."""

    def __init__(self, settings: Settings, parts: Parts, train: Images, valid: Images, budget: Budget) -> None:
        if train.images.shape[1:] != valid.images.shape[1:]:
            shapes = tuple(train.images.shape[1:]), tuple(valid.images.shape[1:])
            raise SpaceError(f"train has images of shape {shapes[0]} and valid of {shapes[1]}; both must be alike")
        self.settings, self.parts, self.budget = settings, parts, budget
        self.train, self.valid = train.to(parts.device), valid.to(parts.device)
        self.data = f"{train.digest()}/{valid.digest()}"
        self.rule = rule(settings.pruning)
        self.bandit = Bandit(C=settings.C, active=self.rule.first())
        self.stages: Integers = np.zeros(PAIRS, dtype=np.int64)
        self.step = 0  # search steps done
        self.round = 0  # 0 is the first pass
        self.begun = 0  # the step at which the round began
        self.policy = 0
        self.seconds = 0.0
        self.total = budget.steps
        self.twins: Twins | None = None
        self.scheduler: Any = None
        self._order: Integers | None = None
        self._epoch = -1
        self._rows: Integers | None = None
        self._diverged = 0

    @property
    def finished(self) -> bool:
        over = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return over or self.round > self.settings.rounds

    def run(self, file: SavedSearch | None, save_every: int) -> None:
        """Search until the budget is used up."""
        earlier, began, saved = self.seconds, ticks(), self.step
        while not self.finished:
            if self.step < self.end_of_round():
                self._one_step()
                self.seconds = earlier + ticks() - began
                if self.total is None and self.step >= _MEASURED and self._between_plays():
                    self.total, self.twins = self._affordable(), None
            else:
                self._close_round()
                saved = -save_every
            if file is not None and self._between_plays() and self.step - saved >= save_every:
                file.save(self)
                saved = self.step
        if file is not None and self._between_plays():
            file.save(self)

    def _affordable(self) -> int:
        """How many steps a budget in seconds will pay for, at the speed so far."""
        return max(int(float(self.budget.seconds or 0.0) / max(self.seconds, 1e-9) * self.step), self.step)

    def _between_plays(self) -> bool:
        """Whether the twins are to be made equal next, so that one of them is all there is to keep."""
        return self.step % self.settings.repeats == 0

    def end_of_round(self) -> int:
        """The step before which the current round ends; with a budget in seconds it is known after a few steps."""
        if self.total is None:
            return _UNKNOWN
        first, rounds = self.first_pass(), self.settings.rounds
        return self._whole_plays(first + (self.total - first) * self.round // rounds)

    def _whole_plays(self, steps: int) -> int:
        return steps - steps % self.settings.repeats

    def first_pass(self) -> int:
        """How many steps the first pass has."""
        total = self.total or 0
        if self.settings.initial is not None:
            return self._whole_plays(min(self.settings.initial * self.settings.repeats, total))
        return self._whole_plays(min(int(self.rule.first().sum()) * self.settings.repeats, total // 2))

    def result(self) -> PolicySet:
        """What has been learned so far."""
        about = {
            "steps": self.step,
            "rounds": max(self.round - 1, 0),
            "pruning": self.settings.pruning,
            "seed": self.settings.seed,
        }
        return PolicySet.from_bandit(self.bandit, self.settings.estimate, about)

    def _close_round(self) -> None:
        """Algorithm 1, line 12, and line 6 of the next round."""
        if self.round > 0:
            rng = generator(self.settings.seed, self.round, "prune")
            self.bandit.active = self.rule.next(self.round, self.bandit, self.stages, self.settings.estimate, rng)
        self.round, self.begun, self.twins = self.round + 1, self.step, None

    def begin_network(self) -> Twins:
        """A new network for the round, or the first one after a file was read."""
        torch.manual_seed(integer(self.settings.seed, self.round, "network"))
        model = checked_model(self.parts.model_factory()).to(self.parts.device)
        self.twins = Twins(model, self.parts.optimizer, self.parts.loss)
        self.scheduler = self.parts.scheduler(self.twins.optimizer, self.end_of_round() - self.begun)
        return self.twins

    def _one_step(self) -> None:
        """Algorithm 2 for the next batch; with ``repeats`` the twins are compared after several batches."""
        twins = self.twins or self.begin_network()
        turn = self.step % self.settings.repeats
        if turn == 0:
            self.policy = self._next_policy()
            twins.make_equal()
        prepare, (images, labels) = self.parts.prepare, self._training_batch()
        seed = integer(self.settings.seed, self.step, "dropout")
        twins.train(prepare(images), prepare(self._augmented(images)), labels, seed)
        if turn == self.settings.repeats - 1:
            images, labels = self._validation_batch()
            self._book(twins.gain(prepare(images), labels))
        self.scheduler.step()
        self.step += 1

    def _book(self, gain: float) -> None:
        """The bandit learns the gain; a network whose loss is no longer finite is replaced by a new one."""
        self.bandit.update(self.policy, gain)
        self._diverged = 0 if math.isfinite(gain) else self._diverged + 1
        if self._diverged:
            self.twins = None
        if self._diverged >= _DIVERGED:
            raise ObjectiveError(
                f"the validation loss was not finite in {_DIVERGED} plays in a row, the last with "
                f"{policy_at(self.policy)}; check the model, or give an optimizer= with a smaller rate"
            )

    def _next_policy(self) -> int:
        if self.round == 0:
            order = self._first_order()
            return int(order[self.step // self.settings.repeats % len(order)])
        return self.bandit.sample(generator(self.settings.seed, self.step, "policy"))

    def _first_order(self) -> Integers:
        """The policies of the first pass in random order, one of each pair before the second of any."""
        if self._order is None:
            rng = generator(self.settings.seed, 0, "first pass")
            mask = self.rule.first().reshape(PAIRS, PER_PAIR)
            turn = np.where(mask, rng.random(mask.shape), 2.0).argsort(axis=1).argsort(axis=1)
            policies = np.flatnonzero(mask)
            self._order = policies[np.lexsort((rng.random(len(policies)), turn.ravel()[policies]))]
        return self._order

    def _augmented(self, images: Any) -> Any:
        operations, levels = decoded(self.policy)
        draws = generator(self.settings.seed, self.step, "augment").random((2, len(images), DRAWS))
        return apply_policies(images, operations, levels, draws)

    def _training_batch(self) -> Images:
        """The next batch of an epoch; each epoch has an order of its own."""
        size = min(self.settings.batch, len(self.train.images))
        per_epoch = len(self.train.images) // size
        epoch, place = divmod(self.step, per_epoch)
        if self._rows is None or self._epoch != epoch:
            self._epoch = epoch
            self._rows = generator(self.settings.seed, epoch, "epoch").permutation(len(self.train.images))
        return self.train.rows(self._rows[place * size : (place + 1) * size])

    def _validation_batch(self) -> Images:
        size = min(self.settings.valid_batch, len(self.valid.images))
        rng = generator(self.settings.seed, self.step, "validation")
        return self.valid.rows(rng.choice(len(self.valid.images), size, replace=False))
