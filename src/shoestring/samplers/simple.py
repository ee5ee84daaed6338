"""Samplers that do not learn: random, grid, Latin hypercube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.core.untried import free_rows, taken
from shoestring.errors import MethodError
from shoestring.samplers.candidates import latin
from shoestring.spaces.codec import Codec, Config


def random_config(history: History, rng: np.random.Generator) -> Config:
    """A configuration by the space's own prior; on a table, one of the free rows."""
    codec = history.codec
    if codec.rows is None:
        return codec.sample(rng)
    free = free_rows(history).nonzero()[0]
    return dict(codec.rows[int(rng.choice(free)) if len(free) else 0])


@dataclass(frozen=True)
class Random:
    """Independent draws from the space."""

    reference: ClassVar[str] = "Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 2012"

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        return Proposal(random_config(history, rng), "random")


@dataclass(frozen=True)
class Grid:
    """Every combination once, in order; real ranges and long integer ranges at ``resolution`` values."""

    resolution: int = 5

    def __post_init__(self) -> None:
        if self.resolution < 1:
            raise MethodError(f"resolution is {self.resolution}; a grid needs at least one value a parameter")

    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        points = history.cached(("grid", self), lambda: list(self._points(history)))
        keys = taken(history)
        # The grid is walked in order, so its first points are those that are taken.
        for i in range(min(len(history.arms), len(points)), len(points)):
            if Codec.key(points[i]) not in keys:
                return Proposal(points[i], f"point {i + 1} of {len(points)} of the grid")
        return next(
            (Proposal(p, f"a point of the grid of {len(points)}") for p in points if Codec.key(p) not in keys), None
        )

    def _points(self, history: History) -> list[Config]:
        codec = history.codec
        return codec.rows if codec.rows is not None else list(codec.grid(self.resolution))


@dataclass(frozen=True)
class LatinHypercube:
    """Draws that fill the space evenly: of each ``size`` in a row, one in every slice of each axis."""

    size: int = 32
    reference: ClassVar[str] = "McKay, Beckman and Conover, A comparison of three methods, Technometrics 1979"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise MethodError(f"size is {self.size}; a design has at least one point")

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        """The design's next point; a second call for the same arm moves on to a random one."""
        codec, arm = history.codec, len(history.arms)
        block, place = divmod(arm, self.size)
        design = history.cached(
            ("lhs", self, block),
            lambda: latin(generator(history.seed, block, "latin hypercube"), self.size, codec.dimensions),
        )
        config = codec.decode(design[place])
        if not codec.allowed(config) or Codec.key(config) in taken(history):
            return Proposal(random_config(history, rng), "random, the design's point is not free")
        return Proposal(config, f"point {place + 1} of {self.size} of a Latin hypercube")


def first_design(history: History, rng: np.random.Generator, size: int) -> Proposal:
    """The design takes no notice of a table's rows or of what the space itself holds likely."""
    codec = history.codec
    if codec.rows is not None or any(axis.prior for axis in codec.axes):
        return Proposal(random_config(history, rng), f"random, one of the first {size}")
    return LatinHypercube(size).propose(history, rng)
