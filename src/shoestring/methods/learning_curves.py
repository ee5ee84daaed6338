"""Code that the methods that forecast learning curves share: the remaining steps, the candidate pool, expected
improvement.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
======== =========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import Done, Wait
from shoestring.core.history import Cursor, History
from shoestring.core.randomness import generator
from shoestring.models import acquisition
from shoestring.spaces.codec import Codec, Config


def remaining_steps(history: History) -> float:
    """Return how many steps the rest of the budget buys, by the cost and duration of the steps so far; r.

    Steps granted to running trials are not included. Infinite where nothing bounds the steps.
    """
    ledger = history.ledger
    left = history.affordable_steps(None)
    if ledger.budget.seconds is not None and ledger.steps and ledger.seconds > 0:
        left = min(left, ledger.free("seconds") * ledger.steps / ledger.seconds - ledger.committed_steps)
    return max(left, 0.0)


def steps_are_free(history: History) -> bool:
    """Return whether the budget limits only the number of trials: then it never pays to stop one early."""
    return history.ledger.budget.limited == ("evaluations",)


def nothing_left(history: History) -> Wait | Done:
    """The decision where no configuration can be started or continued."""
    if history.running:
        return Wait("every trial that could continue is running")
    return Done("every configuration has been trained to its end")


def format_steps(steps: float) -> str:
    """A number of whole steps for people to read.

    >>> from shoestring.methods.learning_curves import format_steps
    >>> format_steps(1.9), format_steps(12), format_steps(float("inf"))
    ('1 step', '12 steps', 'any number of steps')
    """
    if steps == math.inf:
        return "any number of steps"
    return f"{int(steps)} step{'' if int(steps) == 1 else 's'}"


class Pool:
    """The configurations that can be started, as points of the unit cube; a function of the study's seed.

    All of a finite space if it has at most ``size``, else a random choice; likewise the rows of a table.
    """

    def __init__(self, history: History, size: int) -> None:
        self._configs, self.points, self._index = history.constant(("pool", size), lambda: _pool(history, size))
        self.untried = np.ones(len(self._configs), dtype=bool)
        self._arms = Cursor()

    def __len__(self) -> int:
        return len(self._configs)

    def update(self, history: History) -> None:
        """Mark the configurations that have been started since the last update."""
        for arm in self._arms.new(history.arms):
            index = self.index(arm.config)
            if index is not None:
                self.untried[index] = False

    def index(self, config: Config) -> int | None:
        return self._index.get(Codec.key(config))

    def config(self, index: int) -> Config:
        return dict(self._configs[index])


def _pool(history: History, size: int) -> tuple[list[Config], Array, dict[Hashable, int]]:
    """The configurations of a pool, their points, and the place of each by its key."""
    codec = history.codec
    configs = list(_draw(codec, size, generator(history.seed, 0, f"pool of {size}")))
    points = np.array([codec.encode(config) for config in configs]).reshape(len(configs), codec.dimensions)
    return configs, points, {Codec.key(config): i for i, config in enumerate(configs)}


def _draw(codec: Codec, size: int, rng: np.random.Generator) -> Iterator[Config]:
    """At most ``size`` different configurations."""
    everything = _everything(codec, 4 * size)
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


def _everything(codec: Codec, most: int) -> list[Config] | None:
    """All rows of a table, or all configurations of a finite space that has at most this many; None elsewhere."""
    if codec.rows is None and codec.finite and math.prod(codec.cells.tolist()) <= most:
        return codec.everything
    return codec.rows


def expected_improvement(mean: Array, deviation: Array, best: float | Array) -> Array:
    """E (best − y)⁺ of y ~ N(mean, deviation²), as an array.

    >>> import numpy as np
    >>> from shoestring.methods.learning_curves import expected_improvement
    >>> expected_improvement(np.zeros(1), np.ones(1), 0.0).round(4).tolist()
    [0.3989]
    """
    return acquisition.expected_improvement(mean, np.maximum(deviation, 1e-12), best)[0]
