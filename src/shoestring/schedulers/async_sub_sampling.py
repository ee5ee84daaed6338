"""Asynchronous modified sub-sampling (AMSS): ASHA's promotion in the order of potential.

Huang et al., An asymptotically optimal multi-armed bandit algorithm and hyperparameter
optimization, section 7: V_k of Algorithm 6 replaces the last reading, and nothing waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoestring.history import History
from shoestring.method import Decision
from shoestring.schedulers.evaluations import Record, check_options, warn_of_resuming
from shoestring.schedulers.modified_sub_sampling import check_beta, potentials
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
        values = potentials(table.records, self.beta)
        for level in range(len(rungs) - 2, -1, -1):
            ranked = sorted(table.reached[level], key=lambda arm: (values[arm], arm))
            for rank, arm in enumerate(ranked[: int(len(ranked) / self.eta)]):
                if waits_at(history.arms[arm], rungs[level], self.replicate):
                    return promotion(history.arms[arm], rungs, level, self.replicate, rank, len(ranked))
        return otherwise(history, rungs, may_start)


class _Table:
    """The record of every arm, and per rung the arms that reached it; failed ones count as reached."""

    def __init__(self, rungs: tuple[int, ...], options: AsyncSubSampling) -> None:
        self.rungs = rungs
        self.options = options
        self.records: list[Record] = []
        self.reached: list[list[int]] = [[] for _ in rungs]
        self._arrivals = Arrivals(rungs, options.replicate)

    def update(self, history: History) -> _Table:
        while len(self.records) < len(history.arms):
            self.records.append(Record(self.options.compare, self.options.weights))
        for level, trial in self._arrivals.new(history):
            resumed = self.options.replicate == "resume" and level > 0
            self.records[trial.arm].add(trial, self.rungs[level], self.rungs[level - 1] if resumed else 0)
            self.reached[level].append(trial.arm)
        for level, trial in self._arrivals.failures(history):
            self.records[trial.arm].fail()
            self.reached[level].append(trial.arm)
        return self
