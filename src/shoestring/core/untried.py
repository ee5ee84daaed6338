"""Configurations that a study has not tried yet, and a proposal that is one of them.

A study may be played on a table of recorded configurations. Then only its rows can be tried: all that follows from
that is here and in the codec.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace

import numpy as np

from shoestring._arrays import Array, Mask
from shoestring.core.decisions import Proposal, Sampler
from shoestring.core.history import Cursor, History
from shoestring.errors import MethodError
from shoestring.spaces.codec import Codec, Config, deep_copy

# How often a sampler is asked again if it repeats itself, and how many random configurations are drawn after that.
_ATTEMPTS = 32
_DRAWS = 1000


def tried(history: History) -> Collection[Hashable]:
    """The keys of all configurations that were tried, are running or come from elsewhere; failed ones included."""
    return history.arm_of.keys()


def first_enqueued(history: History) -> Proposal:
    """The configuration that the user wants to be tried next; there is one."""
    source = history.source_of.get(Codec.key(history.queue[0]))
    return Proposal(deep_copy(history.queue[0]), f"it was enqueued by {source}" if source else "it was enqueued")


class _FreeRows:
    """A mask of the rows of a table that were not tried."""

    def __init__(self, rows: list[Config]) -> None:
        self.mask = np.ones(len(rows), dtype=bool)
        self._where: dict[Hashable, list[int]] = {}
        for i, row in enumerate(rows):
            self._where.setdefault(Codec.key(row), []).append(i)
        self._arms = Cursor()

    def update(self, history: History) -> Mask:
        for arm in self._arms.new(history.arms):
            self.mask[self._where.get(Codec.key(arm.config), [])] = False
        return self.mask


def free_rows(history: History) -> Mask:
    """Return which rows of the table that a study is played on have not been tried. Shape (number of rows,)."""
    return history.cached("free rows", lambda: _FreeRows(history.codec.rows or [])).update(history)


def random_config(history: History, rng: np.random.Generator) -> Config:
    """A configuration by the space's own prior; on a table, one of the free rows."""
    rows = history.codec.rows
    if rows is None:
        return history.codec.sample(rng)
    free = free_rows(history).nonzero()[0]
    return dict(rows[int(rng.choice(free)) if len(free) else 0])


def propose_new(sampler: Sampler, history: History, rng: np.random.Generator) -> Proposal | None:
    """A proposal that was not tried before; None if there is none.

    What the user enqueued comes first, and the sampler is not asked. A sampler that repeats itself is asked again. If
    it insists, a random untried configuration is taken. On a table the proposal is moved to the nearest row that is
    still free.
    """
    if history.queue:
        return first_enqueued(history)
    codec, keys = history.codec, tried(history)
    if codec.rows is not None:
        return _nearest_row(_propose(sampler, history, rng), history) if free_rows(history).any() else None
    for _ in range(_ATTEMPTS):
        proposal = _propose(sampler, history, rng)
        if proposal is None or (Codec.key(proposal.config) not in keys and codec.allowed(proposal.config)):
            return proposal
    if codec.finite:
        left = [config for config in codec.everything if Codec.key(config) not in keys]
        found = left[int(rng.integers(len(left)))] if left else None
    else:
        drawn = (codec.sample(rng) for _ in range(_DRAWS))
        found = next((config for config in drawn if Codec.key(config) not in keys), None)
    return None if found is None else Proposal(found, "random, because the sampler only repeated itself")


def _propose(sampler: Sampler, history: History, rng: np.random.Generator) -> Proposal | None:
    proposal = sampler.propose(history, rng)
    if proposal is not None and not isinstance(proposal, Proposal):
        raise MethodError(
            f"{sampler!r} proposed {proposal!r}; it must be a Proposal(config, reason), or None if nothing is left"
        )
    return proposal


def _nearest_row(proposal: Proposal | None, history: History) -> Proposal | None:
    codec = history.codec
    if proposal is None or codec.rows is None:
        return None
    row = nearest_row(codec, codec.encode(proposal.config), free_rows(history))
    return replace(proposal, config=dict(codec.rows[row]))


def nearest_row(codec: Codec, target: Array, free: Mask) -> int:
    """The number of the row of a table that is nearest to a point, of those that are free."""
    gaps = np.abs(codec.row_points - target)
    gaps = np.where(codec.choices > 0, gaps > 1e-9, gaps)
    gaps = np.where(np.isnan(gaps), np.isnan(codec.row_points) != np.isnan(target), gaps)
    return int(np.where(free, (gaps**2).sum(axis=1), np.inf).argmin())
