"""Random search as a method of its own: independent draws, each run to the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.composition import compose
from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.samplers import Random
from shoestring.schedulers import Full


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
