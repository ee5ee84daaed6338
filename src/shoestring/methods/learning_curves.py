"""What methods that forecast learning curves share: what is left, who can go on, scores, improvement.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
u        normal scores: the losses of all readings, as quantiles of a standard normal
======== =========================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoestring.core.history import Arm, History, TrialRecord
from shoestring.core.randomness import generator
from shoestring.spaces.codec import Codec, Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    Array = NDArray[np.float64]


def remaining_steps(history: History) -> float:
    """How many steps the rest of the budget buys, by what steps have cost and lasted so far; r.

    Steps promised to running trials are not among them. Infinite where nothing bounds the steps.
    """
    ledger = history.ledger
    left = history.affordable_steps(None)
    if ledger.budget.seconds is not None and ledger.steps and ledger.seconds > 0:
        left = min(left, ledger.free("seconds") * ledger.steps / ledger.seconds - ledger.committed_steps)
    return max(left, 0.0)


def steps_are_free(history: History) -> bool:
    """Whether the budget counts trials alone: then it never pays to stop one early."""
    return history.ledger.budget.limited == ("evaluations",)


def counted(steps: float) -> str:
    """Steps in words, a part of one left out.

    >>> from shoestring.methods.learning_curves import counted
    >>> counted(1.9), counted(12), counted(float("inf"))
    ('1 step', '12 steps', 'any number of steps')
    """
    if steps == math.inf:
        return "any number of steps"
    return f"{int(steps)} step{'' if int(steps) == 1 else 's'}"


def trial_of(arm: Arm) -> TrialRecord:
    """The trial whose curve is followed."""
    return arm.trials[0]


class Pool:
    """Configurations that may be begun, as points of the unit cube; the same whenever it is made again.

    All of a finite space if it has at most ``size``, else a random choice; the rows of a table in the same way.
    """

    def __init__(self, history: History, size: int) -> None:
        self.codec = history.codec
        rng = generator(history.seed, 0, f"pool of {size}")
        self._configs = list(_drawn(self.codec, size, rng))
        self.points: Array = np.array([self.codec.encode(config) for config in self._configs])
        self.points = self.points.reshape(len(self._configs), self.codec.dimensions)
        self._where = {Codec.key(config): i for i, config in enumerate(self._configs)}
        self.free = np.ones(len(self._configs), dtype=bool)
        self._seen = 0

    def __len__(self) -> int:
        return len(self._configs)

    def update(self, history: History) -> Pool:
        """Arms that were begun are no longer free."""
        for arm in history.arms[self._seen :]:
            place = self.place(arm.config)
            if place is not None:
                self.free[place] = False
        self._seen = len(history.arms)
        return self

    def place(self, config: Config) -> int | None:
        return self._where.get(Codec.key(config))

    def config(self, place: int) -> Config:
        return dict(self._configs[place])


def _drawn(codec: Codec, size: int, rng: np.random.Generator) -> Iterator[Config]:
    everything = codec.rows
    if everything is None and codec.finite and math.prod(codec.cells.tolist()) <= 4 * size:
        everything = codec.everything
    if everything is not None:
        chosen = range(len(everything)) if len(everything) <= size else rng.permutation(len(everything))[:size]
        yield from (everything[i] for i in chosen)
        return
    keys = set()
    for _ in range(4 * size):
        config = codec.sample(rng)
        if Codec.key(config) not in keys:
            keys.add(Codec.key(config))
            yield config
        if len(keys) == size:
            return


def loss_of_score(score: float, losses: Array, scores: Array) -> float:
    """The loss that stands where a score does among those seen; beyond them, the nearest."""
    order = np.argsort(losses, kind="stable")
    return float(np.interp(score, scores[order], losses[order]))


def expected_improvement(mean: Array, deviation: Array, best: float | Array) -> Array:
    """E (best − y)⁺ of y ~ N(mean, deviation²), as an array.

    >>> import numpy as np
    >>> from shoestring.methods.learning_curves import expected_improvement
    >>> expected_improvement(np.zeros(1), np.ones(1), 0.0).round(4).tolist()
    [0.3989]
    """

    from shoestring.models import acquisition

    return acquisition.expected_improvement(mean, np.maximum(deviation, 1e-12), best)[0]
