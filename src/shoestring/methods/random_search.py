"""Random search as a method of its own: independent draws, each run to the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shoestring.history import History
from shoestring.method import Decision, compose
from shoestring.samplers import Random
from shoestring.schedulers import Full

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class RandomSearch:
    """The same as ``compose(Random(), Full())``.

    >>> import shoestring as ss
    >>> method = ss.methods.RandomSearch()
    >>> study = ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, budget="5 evaluations", method=method)
    >>> len(study.trials)
    5
    """

    reference: ClassVar[str] = Random.reference

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        return compose(Random(), Full()).decide(history, rng)
