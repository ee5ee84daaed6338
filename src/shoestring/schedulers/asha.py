"""Asynchronous successive halving, the promoting kind.

Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020, Algorithm 2.

A trial pauses at each rung. Whenever a slot is free, the best paused trial that stands in the top
1/eta of its rung is promoted, the highest rung first; if there is none, a new arm is begun. Nothing
ever waits, and with one worker it works just the same.

Differs from the paper in that a trial whose grant was cut short by the budget is carried on to its
rung first, once there is more budget.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import ClassVar

from shoestring.history import History, TrialRecord
from shoestring.method import Continue, Decision, Done, Start, Wait
from shoestring.schedulers.rungs import check_rungs, cut_short, ladder, top_resource


@dataclass(frozen=True)
class ASHA:
    """Promote the best 1/``eta`` of each rung as soon as they are known; otherwise start a new arm."""

    eta: float = 3
    min_resource: int = 1
    reference: ClassVar[str] = "Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "asha", self.min_resource)
        rungs = ladder(self.min_resource, top, self.eta)
        table = history.cached(("asha", self), lambda: _Table(rungs, self.eta)).update(history)
        unfinished = cut_short(history, rungs)
        if unfinished is not None:
            return unfinished
        for level in range(len(rungs) - 2, -1, -1):
            candidate = table.promotable(level)
            if candidate is not None:
                trial, rank = candidate
                seen = len(table.losses[level])
                reason = f"number {rank + 1} of the {seen} that reached step {rungs[level]}, on to {rungs[level + 1]}"
                return Continue(trial.index, rungs[level + 1], reason)
        if may_start:
            return Start(rungs[0], "nothing to promote, so a new arm")
        return Wait("nothing to promote yet") if history.running else Done("nothing left to promote or to start")


@dataclass
class _Table:
    """Per rung: all losses in order, and a heap of those that wait for promotion."""

    rungs: list[int]
    eta: float
    seen: int = 0
    closed: int = 0
    losses: list[list[tuple[float, int]]] = field(default_factory=list)
    waiting: list[list[tuple[float, int, TrialRecord]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.level = {rung: level for level, rung in enumerate(self.rungs)}
        self.losses = [[] for _ in self.rungs]
        self.waiting = [[] for _ in self.rungs]

    def update(self, history: History) -> _Table:
        for trial, step, loss in history.readings[self.seen :]:
            level = self.level.get(step)
            if level is not None:
                insort(self.losses[level], (loss, trial.index))
                heapq.heappush(self.waiting[level], (loss, trial.index, trial))
        self.seen = len(history.readings)
        for trial in history.closings[self.closed :]:
            self._close(trial)
        self.closed = len(history.closings)
        return self

    def _close(self, trial: TrialRecord) -> None:
        """A failed trial counts as the worst of the rung it was on its way to."""
        level = next((level for level, rung in enumerate(self.rungs) if rung > trial.step), None)
        if level is not None and trial.state == "failed":
            insort(self.losses[level], (math.inf, trial.index))

    def promotable(self, level: int) -> tuple[TrialRecord, int] | None:
        """The best trial that waits on a rung, if it stands in the rung's top 1/eta; and its rank."""
        heap, losses = self.waiting[level], self.losses[level]
        while heap and not (heap[0][2].state == "paused" and heap[0][2].step == self.rungs[level]):
            heapq.heappop(heap)  # it was promoted, and never comes back to this rung
        if not heap:
            return None
        rank = bisect_left(losses, heap[0][:2])
        return (heap[0][2], rank) if rank < int(len(losses) / self.eta) else None
