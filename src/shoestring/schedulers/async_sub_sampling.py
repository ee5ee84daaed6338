"""Asynchronous modified sub-sampling (AMSS): ASHA's promotion in the order of potential.

Huang et al., An asymptotically optimal multi-armed bandit algorithm and hyperparameter
optimization, section 7: V_k of Algorithm 6 replaces the last reading, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.models import sub_sampling as maths
from shoestring.schedulers.evaluations import Record, check_options, warn_of_resuming
from shoestring.schedulers.modified_sub_sampling import check_beta
from shoestring.schedulers.rungs import (
    Arrivals,
    check_rungs,
    cut_short,
    ladder,
    otherwise,
    promotion,
    top_resource,
    waits_at,
)
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class AsyncSubSampling:
    """Promote the arm with the most potential among the top 1/``eta`` of its rung; or start a new arm."""

    eta: float = 3
    min_resource: int = 1
    max_resource: int | None = None
    beta: float = 0.1
    weights: str = "equal"
    replicate: str = "fresh"
    compare: str = "evaluations"
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        check_options(self.weights, self.replicate, self.compare)
        check_beta(self.beta)
        warn_of_resuming("asynchronous sub-sampling", self.replicate, self.compare)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "asynchronous sub-sampling", self.min_resource, self.max_resource)
        rungs = ladder(self.min_resource, top, self.eta)
        unfinished = cut_short(history, rungs)
        if unfinished is not None:
            return unfinished
        table = history.cached(("amss", self), lambda: _Table(rungs, self)).update(history)
        values = table.potentials(self.beta)
        # Where there are no new arms to be had, the best that wait go on although they are not in the top.
        anyone = not may_start and not history.running
        for level in range(len(rungs) - 2, -1, -1):
            candidate = table.promotable(level, values, anyone)
            if candidate is not None:
                arm, rank, among = candidate
                return promotion(history.arms[arm], rungs, level, self.replicate, rank, among)
        return otherwise(rungs, may_start)


class _Table:
    """The record of every arm and, per rung, who reached it and who waits there; failed ones count as reached.

    Beside the records stand arrays with one entry an arm, so that a decision costs a few array operations.
    """

    def __init__(self, rungs: Sequence[int], options: AsyncSubSampling) -> None:
        self.rungs = rungs
        self.options = options
        self.records: list[Record] = []
        self._arrivals = Arrivals(rungs, options.replicate)
        self._granted = 0
        self._extents: dict[tuple[int, int], int] = {}
        self._values, self._n_values = np.empty(0), 0
        self._make_room(0)

    def _make_room(self, n: int) -> None:
        self._reached, self._waiting = (np.zeros((len(self.rungs), n), dtype=bool) for _ in range(2))
        self._count, self._extent = (np.zeros(n, dtype=np.int64) for _ in range(2))
        self._mean = np.full(n, np.inf)

    def update(self, history: History) -> _Table:
        self._grow(len(history.arms))
        touched = {grant.arm for grant in history.grants[self._granted :]}
        self._granted = len(history.grants)
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
