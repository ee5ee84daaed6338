"""Points to choose from: designs, points near good ones, the free rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import History
from shoestring.core.untried import free_rows, tried
from shoestring.errors import MethodError
from shoestring.models.embedding import Embedding
from shoestring.spaces.codec import Codec

# Of a table with more free rows than this, a random part is scored.
_MOST_ROWS = 2000
# A model has a column, or a row and a column, for each unordered choice.
_MOST_CHOICES = 2_000


def check_modelled(history: History) -> None:
    """Refuse a space that a model cannot hold in memory."""
    codec = history.codec
    for name, choices in zip(codec.names, codec.choices, strict=True):
        if choices > _MOST_CHOICES:
            raise MethodError(
                f"parameter {name!r} has {choices:,} unordered choices; models take at most {_MOST_CHOICES:,}: "
                "give a range of numbers (low, high) if they have an order, or use the method 'random'"
            )


def embedding(history: History) -> Embedding:
    """Return how the axes of a study become columns for models."""

    def make() -> Embedding:
        check_modelled(history)
        codec = history.codec
        optional = [bool(codec.space.parent_conditions_of[name]) for name in codec.names]
        return Embedding(codec.choices, np.array(optional, dtype=bool))

    return history.constant("embedding", make)


def latin(rng: np.random.Generator, m: int, d: int) -> Array:
    """A Latin hypercube: one of m points in every slice of each axis. Shape (m, d)."""
    slices = np.empty((m, d))
    for j in range(d):
        slices[:, j] = rng.permutation(m)
    return (slices + rng.random((m, d))) / max(m, 1)


def uniform(history: History, rng: np.random.Generator, m: int) -> Array:
    """Points by the space's own priors. Shape (m, d)."""
    codec = history.codec
    if any(axis.prior for axis in codec.axes):
        return np.array([codec.sample_point(rng) for _ in range(m)]).reshape(m, codec.dimensions)
    return rng.random((m, codec.dimensions))


def around(
    centres: Array, rng: np.random.Generator, m: int, codec: Codec, smallest: float = 0.002, every_axis: bool = False
) -> Array:
    """Points near some of the known ones: on a few axes a step of any size up to a fifth, or another choice.

    ``smallest`` is the least size of a step; with ``every_axis`` all ordered axes move.
    """
    d = codec.dimensions
    points = centres[rng.integers(len(centres), size=m)].copy()
    few = max(1 / d, min(0.5, 2 / d))
    move = rng.random((m, d)) < np.where(every_axis & (codec.choices == 0), 1.0, few)
    move[np.arange(m), rng.integers(d, size=m)] = True
    # Sizes are spread evenly over magnitudes: what matters may be narrow.
    size = 0.2 * (smallest / 0.2) ** rng.random((m, d))
    cells = np.where(codec.cells > 0, 1 / np.maximum(codec.cells, 1), 0.0)
    step = np.maximum(size, cells) * rng.standard_normal((m, d))
    fresh, inactive = rng.random((m, d)), np.isnan(points)
    moved = np.where((codec.choices > 0) | inactive, fresh, points + step)
    return _reflect(np.where(move, moved, np.where(inactive, fresh, points)))


def _reflect(points: Array) -> Array:
    """A point outside the cube, mirrored at its border."""
    folded = np.abs(points) % 2.0
    return np.where(folded > 1, 2 - folded, folded)


def open_points(history: History, rng: np.random.Generator) -> Array | None:
    """On a table, the rows that are still free; None elsewhere."""
    codec = history.codec
    if codec.rows is None:
        return None
    free = free_rows(history).nonzero()[0]
    if len(free) > _MOST_ROWS:
        free = free[rng.permutation(len(free))[:_MOST_ROWS]]
    return codec.row_points[free]


def first_free(points: Array, order: Any, history: History) -> int | None:
    """The first of the points, in this order, that is allowed and was not tried."""
    codec, keys = history.codec, tried(history)
    for index in order:
        config = codec.decode(points[index])
        if Codec.key(config) not in keys and codec.allowed(config):
            return int(index)
    return None
