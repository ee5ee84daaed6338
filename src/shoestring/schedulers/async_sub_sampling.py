"""Asynchronous modified sub-sampling (AMSS): ASHA's promotion in the order of potential.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, section 7: V_k of Algorithm 6 replaces the last reading, and no worker waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import Cursor, History
from shoestring.models import sub_sampling as maths
from shoestring.schedulers.evaluations import Comparison, Record, Weighting, warn_of_resuming
from shoestring.schedulers.rungs import (
    Arrivals,
    Replication,
    check_options,
    cut_short,
    ladder,
    promote_or_start,
    top_resource,
    waits_at,
)
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class AsyncSubSampling:
    """Promote the arm with the most potential among the top 1/``eta`` of its rung; or start a new configuration."""

    eta: float = 3
    min_resource: int = 1
    beta: float = 0.1
    weights: Weighting = "equal"
    replicate: Replication = "fresh"
    compare: Comparison = "evaluations"
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_options(self)
        warn_of_resuming("asynchronous sub-sampling", self.replicate, self.compare)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "asynchronous sub-sampling", self.min_resource)
        rungs = ladder(self.min_resource, top, self.eta)
        unfinished = cut_short(history, rungs)
        if unfinished is not None:
            return unfinished
        table = history.cached(("amss", self), lambda: _Table(rungs, self)).update(history)
        values = table.potentials(self.beta)
        return promote_or_start(
            history, rungs, self.replicate, may_start, lambda level, anyone: table.promotable(level, values, anyone)
        )


class _Table:
    """The record of every arm and, per rung, who reached it and who waits there; failed ones count as reached.

    Arrays with one entry an arm repeat what is in the records, so that a decision costs a few array operations.
    """

    def __init__(self, rungs: Sequence[int], options: AsyncSubSampling) -> None:
        self.rungs = rungs
        self.options = options
        self.records: list[Record] = []
        self._arrivals = Arrivals(rungs, options.replicate)
        self._grants = Cursor()
        self._extents: dict[tuple[int, int], int] = {}
        self._values, self._n_values = np.empty(0), 0
        self._make_room(0)

    def _make_room(self, n: int) -> None:
        self._reached, self._waiting = (np.zeros((len(self.rungs), n), dtype=bool) for _ in range(2))
        self._count, self._extent = (np.zeros(n, dtype=np.int64) for _ in range(2))
        self._mean = np.full(n, np.inf)

    def update(self, history: History) -> _Table:
        self._grow(len(history.arms))
        touched = {grant.arm for grant in self._grants.new(history.grants)}
        for level, trial in self._arrivals.new(history):
            resumed = self.options.replicate == "resume" and level > 0
            self.records[trial.arm].add(trial, self.rungs[level], self.rungs[level - 1] if resumed else 0)
            self._take_in(trial.arm)
            self._reached[level, trial.arm] = True
            touched.add(trial.arm)
        for level, trial in self._arrivals.failures(history):
            self.records[trial.arm].fail()
            self._mean[trial.arm] = np.inf
            self._reached[level, trial.arm] = True
            touched.add(trial.arm)
        for arm in touched:
            for level, rung in enumerate(self.rungs):
                waits = bool(self._reached[level, arm]) and waits_at(history.arms[arm], rung, self.options.replicate)
                self._waiting[level, arm] = waits
        return self

    def _grow(self, n: int) -> None:
        while len(self.records) < n:
            self.records.append(Record(self.options.compare, self.options.weights))
        if n > len(self._mean):
            kept = self._reached, self._waiting, self._count, self._extent, self._mean
            self._make_room(max(2 * len(self._mean), n, 16))
            for old, new in zip(
                kept, (self._reached, self._waiting, self._count, self._extent, self._mean), strict=True
            ):
                new[..., : old.shape[-1]] = old

    def _take_in(self, arm: int) -> None:
        record = self.records[arm]
        self._count[arm], self._mean[arm] = record.count, record.mean
        self._extent[arm] = self._extents.setdefault(record.extent(), len(self._extents))
        if self._n_values == len(self._values):
            self._values = np.concatenate((self._values, np.empty(max(16, self._n_values))))
        self._values[self._n_values] = record.values[-1]
        self._n_values += 1

    def potentials(self, beta: float) -> maths.Vector:
        """V_k of every arm, as ``modified_sub_sampling.potentials`` has it; infinite where there is none."""
        usable = np.isfinite(self._mean)
        if not usable.any():
            return np.full(len(self._mean), np.inf)
        most = usable & (self._count == self._count[usable].max())
        best = self.records[int(np.where(most, self._mean, np.inf).argmin())]
        worst = np.array([best.worst_stretch(*extent) for extent in self._extents])[self._extent]
        q = maths.threshold(int(self._count.sum()))
        scale = maths.spread(self._values[: self._n_values])
        return np.asarray((self._mean - worst) / scale - beta * np.maximum(0.0, q - self._count))

    def promotable(self, level: int, values: maths.Vector, anyone: bool) -> tuple[int, int, int] | None:
        """The best arm that waits on a rung, if in the top 1/eta (or ``anyone`` may); its rank, and of how many."""
        waiting = np.flatnonzero(self._waiting[level])
        if not len(waiting):
            return None
        arm = int(waiting[values[waiting].argmin()])
        reached = np.flatnonzero(self._reached[level])
        theirs = values[reached]
        rank = np.count_nonzero(theirs < values[arm]) + np.count_nonzero(reached[theirs == values[arm]] < arm)
        return (arm, int(rank), len(reached)) if anyone or rank < int(len(reached) / self.options.eta) else None
