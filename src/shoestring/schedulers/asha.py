"""Asynchronous successive halving, the promoting kind.

Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020, Algorithm 2.

An arm pauses at each rung. Whenever a slot is free, the best paused arm that stands in the top
1/eta of its rung is promoted, the highest rung first; if there is none, a new arm is begun. Nothing
ever waits, and with one worker it works just the same.

Differs from the paper in that a trial whose grant was cut short by the budget is carried on to its
rung first, once there is more budget.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision
from shoestring.core.history import Arm, History
from shoestring.schedulers.evaluations import Record, check_options
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


@dataclass(frozen=True)
class ASHA:
    """Promote the best 1/``eta`` of each rung as soon as they are known; otherwise start a new arm.

    Arms are ordered by their last evaluation; with ``weights``, by the weighted mean of all of theirs.
    """

    eta: float = 3
    min_resource: int = 1
    max_resource: int | None = None
    weights: str | None = None
    replicate: str = "resume"
    reference: ClassVar[str] = "Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        check_options(self.weights, self.replicate)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "asha", self.min_resource, self.max_resource)
        rungs = ladder(self.min_resource, top, self.eta)
        unfinished = cut_short(history, rungs)
        if unfinished is not None:
            return unfinished
        table = history.cached(("asha", self), lambda: _Table(rungs, self)).update(history)
        # Where there are no new arms to be had, the best that wait go on although they are not in the top.
        anyone = not may_start and not history.running
        for level in range(len(rungs) - 2, -1, -1):
            candidate = table.promotable(level, anyone)
            if candidate is not None:
                arm, rank = candidate
                return promotion(arm, rungs, level, self.replicate, rank, len(table.losses[level]))
        return otherwise(rungs, may_start)


class _Table:
    """Per rung: all losses in order, and a heap of those that wait for promotion."""

    def __init__(self, rungs: tuple[int, ...], options: ASHA) -> None:
        self.rungs = rungs
        self.options = options
        self.losses: list[list[tuple[float, int]]] = [[] for _ in rungs]
        self.waiting: list[list[tuple[float, int, Arm]]] = [[] for _ in rungs]
        self._arrivals = Arrivals(rungs, options.replicate)
        self._records: dict[int, Record] = {}

    def update(self, history: History) -> _Table:
        for level, trial in self._arrivals.new(history):
            loss = trial.losses[self.rungs[level]]
            if self.options.weights:
                record = self._records.setdefault(trial.arm, Record(weighting=self.options.weights))
                record.add(trial, self.rungs[level])
                loss = record.mean
            insort(self.losses[level], (loss, trial.arm))
            heapq.heappush(self.waiting[level], (loss, trial.arm, history.arms[trial.arm]))
        for level, trial in self._arrivals.failures(history):
            insort(self.losses[level], (math.inf, trial.arm))  # it counts as the worst of its rung
        return self

    def promotable(self, level: int, anyone: bool) -> tuple[Arm, int] | None:
        """The best arm that waits on a rung, if it stands in the rung's top 1/eta (or ``anyone`` may); its rank."""
        heap, losses, rung = self.waiting[level], self.losses[level], self.rungs[level]
        while heap and not waits_at(heap[0][2], rung, self.options.replicate):
            heapq.heappop(heap)  # it was promoted, and never comes back to this rung
        if not heap:
            return None
        rank = bisect_left(losses, heap[0][:2])
        return (heap[0][2], rank) if anyone or rank < int(len(losses) / self.options.eta) else None
