"""Modified sub-sampling: successive halving ordered by potential instead of the last reading.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, Algorithm 6; V_k is in ``models/sub_sampling.py``.

The best K_r of *all* arms of the bracket by V_k go into round r, so an arm that was passed over can come back. Differs
from the paper in that losses are scaled before β is applied (β ≥ 1 on raw losses inverts the order of the arms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.models import sub_sampling as maths
from shoestring.schedulers.brackets import Bracket, ladder_budget, next_in_brackets, one_bracket, quota
from shoestring.schedulers.evaluations import (
    Comparison,
    Record,
    Weighting,
    leader_of,
    warn_of_resuming,
    worst_stretches,
)
from shoestring.schedulers.rungs import Replication, check_options, top_resource
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class ModifiedSubSampling:
    """Algorithm 6: the rounds and budgets of successive halving, the order of sub-sampling."""

    eta: float = 3
    min_resource: int = 1
    arms: int | None = None
    beta: float = 0.1
    weights: Weighting = "equal"
    replicate: Replication = "fresh"
    compare: Comparison = "evaluations"
    overlap: bool = True
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_options(self)
        warn_of_resuming("modified sub-sampling", self.replicate, self.compare)

    def record(self) -> Record:
        return Record(self.compare, self.weights)

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        return ladder_budget(bracket, turn, self.eta)

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        values = potentials(records, self.beta)
        usable = [k for k, record in enumerate(records) if not record.failed]
        return sorted(usable, key=lambda k: (values[k], k))[: quota(len(records), turn, self.eta)]  # line 4

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "modified sub-sampling", self.min_resource)
        plan = [one_bracket(top, self.min_resource, self.eta, self.arms)]
        return next_in_brackets(history, plan, self, may_start)


def potentials(records: Sequence[Record], beta: float) -> list[float]:
    """V_k of all arms against their leader (lines 5 and 6); infinite for those without an evaluation."""
    best = leader_of(records)
    if best is None:
        return [math.inf] * len(records)
    q = maths.threshold(sum(record.count for record in records))
    scale = maths.spread(np.array([value for record in records for value in record.values]))
    worst = worst_stretches(best)
    return [
        math.inf
        if record.failed or not record.values
        else maths.potential(record.count, record.mean, worst(record), q, beta, scale)
        for record in records
    ]
