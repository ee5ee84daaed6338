"""Asynchronous successive halving, the promoting kind.

Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020, Algorithm 2.

A trial pauses at each rung. Whenever a worker is free, the best paused trial in the top 1/eta of its rung is promoted,
the highest rung first; if there is none, a new configuration is started. No worker ever waits.

Differs from the paper in that a trial whose grant was cut short by the budget is carried on to its rung first, once
there is more budget.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision
from shoestring.core.history import Arm, History
from shoestring.core.weighing import Judges
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


@dataclass(frozen=True)
class ASHA:
    """Promote the best 1/``eta`` of each rung as soon as they are known; otherwise start a new configuration."""

    eta: float = 3
    min_resource: int = 1
    replicate: Replication = "resume"
    judges: ClassVar[Judges] = "ranked"
    reference: ClassVar[str] = "Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020"

    def __post_init__(self) -> None:
        check_options(self)

    def next(self, history: History, may_start: bool = True) -> Decision:
        rungs = ladder(self.min_resource, top_resource(history, "asha", self.min_resource), self.eta)
        unfinished = cut_short(history, rungs)
        if unfinished is not None:
            return unfinished
        table = history.cached(("asha", self), lambda: _Table(rungs, self)).update(history)
        return promote_or_start(history, rungs, self.replicate, may_start, table.promotable)


class _Table:
    """Per rung: all losses in order, and a heap of those that wait for promotion."""

    def __init__(self, rungs: tuple[int, ...], options: ASHA) -> None:
        self.rungs = rungs
        self.options = options
        self.losses: list[list[tuple[float, int]]] = [[] for _ in rungs]
        self.waiting: list[list[tuple[float, int, Arm]]] = [[] for _ in rungs]
        self._arrivals = Arrivals(rungs, options.replicate)

    def update(self, history: History) -> _Table:
        for level, trial in self._arrivals.new(history):
            loss = trial.losses[self.rungs[level]]
            insort(self.losses[level], (loss, trial.arm))
            heapq.heappush(self.waiting[level], (loss, trial.arm, history.arms[trial.arm]))
        for level, trial in self._arrivals.failures(history):
            insort(self.losses[level], (math.inf, trial.arm))  # it counts as the worst of its rung
        return self

    def promotable(self, level: int, anyone: bool) -> tuple[int, int, int] | None:
        """The best arm that waits on a rung, if it is in the rung's top 1/eta (or ``anyone`` may); its rank."""
        heap, losses, rung = self.waiting[level], self.losses[level], self.rungs[level]
        while heap and not waits_at(heap[0][2], rung, self.options.replicate):
            heapq.heappop(heap)  # it was promoted, and never comes back to this rung
        if not heap:
            return None
        rank = bisect_left(losses, heap[0][:2])
        return (heap[0][1], rank, len(losses)) if anyone or rank < int(len(losses) / self.options.eta) else None
