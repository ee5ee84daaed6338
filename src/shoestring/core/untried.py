"""Which configurations a study has not tried yet, and a proposal that is one of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Proposal, Sampler
from shoestring.core.history import History
from shoestring.spaces.codec import Codec, Config


class _Taken:
    """The configurations that a study has tried, kept up to date as arms are added."""

    def __init__(self) -> None:
        self.keys: set[Hashable] = set()
        self._seen = 0

    def update(self, history: History) -> set[Hashable]:
        for arm in history.arms[self._seen :]:
            self.keys.add(Codec.key(arm.config))
        self._seen = len(history.arms)
        return self.keys


def taken(history: History) -> set[Hashable]:
    """The keys of all configurations that were tried or are running, failed ones included."""
    return history.cached("taken", _Taken).update(history)


def untried(history: History) -> list[Config]:
    """What is left of a finite space, in its own order."""
    keys = taken(history)
    return [config for config in history.codec.everything if Codec.key(config) not in keys]


_ATTEMPTS = 32


def propose_new(sampler: Sampler, history: History, rng: np.random.Generator) -> Proposal | None:
    """A proposal that was not tried before; None if there is none.

    A sampler that repeats itself is asked again; if it insists, a random untried configuration
    is taken. On a table the proposal is moved to the nearest row that is still free.
    """
    codec, keys = history.codec, taken(history)
    if codec.rows is not None:
        return _nearest_row(sampler.propose(history, rng), history)
    for _ in range(_ATTEMPTS):
        proposal = sampler.propose(history, rng)
        if proposal is None:
            return None
        if Codec.key(proposal.config) not in keys and codec.allowed(proposal.config):
            return proposal
    if codec.finite:
        left = untried(history)
        return (
            Proposal(left[int(rng.integers(len(left)))], "random, the sampler only repeated itself") if left else None
        )
    for _ in range(1000):
        config = codec.sample(rng)
        if Codec.key(config) not in keys:
            return Proposal(config, "random, the sampler only repeated itself")
    return None


class _Rows:
    """Which rows of a table are taken, as a mask."""

    def __init__(self, history: History) -> None:
        codec = history.codec
        self.free = np.ones(len(codec.rows or ()), dtype=bool)
        self._where: dict[Hashable, list[int]] = {}
        for i, row in enumerate(codec.rows or ()):
            self._where.setdefault(Codec.key(row), []).append(i)
        self._seen = 0

    def update(self, history: History) -> NDArray[np.bool_]:
        for arm in history.arms[self._seen :]:
            self.free[self._where.get(Codec.key(arm.config), [])] = False
        self._seen = len(history.arms)
        return self.free


def free_rows(history: History) -> NDArray[np.bool_]:
    """Which rows of the table a study is played on have not been taken."""
    return history.cached("rows", lambda: _Rows(history)).update(history)


def _nearest_row(proposal: Proposal | None, history: History) -> Proposal | None:
    codec, free = history.codec, free_rows(history)
    if proposal is None or not free.any():
        return None
    points, target = codec.row_points, codec.encode(proposal.config)
    gaps = np.abs(points - target)
    gaps = np.where(codec.choices > 0, gaps > 1e-9, gaps)
    gaps = np.where(np.isnan(gaps), np.isnan(points) != np.isnan(target), gaps)
    distances = np.where(free, (gaps**2).sum(axis=1), np.inf)
    assert codec.rows is not None
    return replace(proposal, config=dict(codec.rows[int(distances.argmin())]))
