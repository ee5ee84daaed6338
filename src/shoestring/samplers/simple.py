"""Samplers without a model: random, grid, Latin hypercube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.core.options import check_whole
from shoestring.core.randomness import generator
from shoestring.core.untried import random_config, tried
from shoestring.core.weighing import Judges
from shoestring.samplers.candidates import check_modelled, latin
from shoestring.spaces.codec import Codec


@dataclass(frozen=True)
class Random:
    """Independent draws from the space."""

    judges: ClassVar[Judges] = "nothing"
    reference: ClassVar[str] = "Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 2012"

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        return Proposal(random_config(history, rng), "random")


@dataclass(frozen=True)
class Grid:
    """Every combination once, in order; real ranges and long integer ranges at ``resolution`` values."""

    resolution: int = 5
    judges: ClassVar[Judges] = "nothing"

    def __post_init__(self) -> None:
        check_whole(self, "how many values a parameter has in the grid, a whole number", resolution=1)

    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        points = history.cached(("grid", self), lambda: list(history.codec.grid(self.resolution)))
        keys = tried(history)
        # The grid is walked in order, so its first points are those that are taken.
        for i in range(min(len(history.arms), len(points)), len(points)):
            if Codec.key(points[i]) not in keys:
                return Proposal(points[i], f"point {i + 1} of {len(points)} of the grid")
        return next(
            (Proposal(p, f"a point of the grid of {len(points)}") for p in points if Codec.key(p) not in keys), None
        )


@dataclass(frozen=True)
class LatinHypercube:
    """Draws that fill the space evenly: of each ``size`` in a row, one in every slice of each axis."""

    size: int = 32
    judges: ClassVar[Judges] = "nothing"
    reference: ClassVar[str] = "McKay, Beckman and Conover, A comparison of three methods, Technometrics 1979"

    def __post_init__(self) -> None:
        check_whole(self, "how many points the design has, a whole number", size=1)

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        """The design's next point; a second call for the same arm moves on to a random one."""
        codec, arm = history.codec, len(history.arms)
        block, place = divmod(arm, self.size)
        design = history.cached(
            ("lhs", self, block),
            lambda: latin(generator(history.seed, block, "latin hypercube"), self.size, codec.dimensions),
        )
        config = codec.decode(design[place])
        if not codec.allowed(config) or Codec.key(config) in tried(history):
            return Proposal(random_config(history, rng), "random, the design's point is not free")
        return Proposal(config, f"point {place + 1} of {self.size} of a Latin hypercube")


def first_design(history: History, rng: np.random.Generator, size: int) -> Proposal:
    """A point of a Latin hypercube, unless the space has rows or priors of its own, which that would ignore."""
    if not history.arms:
        check_modelled(history)  # before anything is spent
    if not history.codec.uniform:
        return Proposal(random_config(history, rng), f"random, one of the first {size}")
    return LatinHypercube(size).propose(history, rng)
