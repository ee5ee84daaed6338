"""Modified sub-sampling: successive halving with potential instead of the last reading.

Huang et al., An asymptotically optimal multi-armed bandit algorithm and hyperparameter
optimization, Algorithm 6; V_k is in ``models/sub_sampling.py``.

The best K_r of *all* arms of the bracket by V_k go into round r, so an arm that was passed over can
come back. Differs from the paper in that losses are scaled before β is applied (β ≥ 1 on raw losses
inverts the order of the arms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.models import sub_sampling as maths
from shoestring.schedulers.brackets import Bracket, ladder_budget, next_in_brackets
from shoestring.schedulers.evaluations import Record, against, check_options, leader_of, warn_of_resuming
from shoestring.schedulers.halving import check_arms, one_bracket, quota
from shoestring.schedulers.rungs import check_rungs, top_resource
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class ModifiedSubSamplingRule:
    """Algorithm 6, lines 3 to 6."""

    eta: float = 3
    beta: float = 0.1
    weights: str | None = "equal"
    replicate: str = "fresh"
    compare: str = "evaluations"

    def record(self) -> Record:
        return Record(self.compare, self.weights)

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        return ladder_budget(bracket, turn, self.eta)

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        values = potentials(records, self.beta)
        usable = [k for k, record in enumerate(records) if not record.failed]
        return sorted(usable, key=lambda k: (values[k], k))[: quota(len(records), turn, self.eta)]  # line 4


def potentials(records: Sequence[Record], beta: float) -> list[float]:
    """V_k of all arms against their leader (lines 5 and 6); infinite for those without an evaluation."""
    best = leader_of(records)
    if best is None:
        return [math.inf] * len(records)
    q = maths.threshold(sum(record.count for record in records))
    scale = maths.spread(np.array([value for record in records for value in record.values]))
    worst = against(best)
    values = []
    for record in records:
        if record.failed or not record.values:
            values.append(math.inf)
        else:
            values.append(maths.potential(record.count, record.mean, worst(record), q, beta, scale))
    return values


@dataclass(frozen=True)
class ModifiedSubSampling:
    """Algorithm 6: the rounds and budgets of successive halving, the order of sub-sampling."""

    eta: float = 3
    min_resource: int = 1
    max_resource: int | None = None
    arms: int | None = None
    beta: float = 0.1
    weights: str = "equal"
    replicate: str = "fresh"
    compare: str = "evaluations"
    overlap: bool = True
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        check_options(self.weights, self.replicate, self.compare)
        check_arms(self.arms)
        check_beta(self.beta)
        warn_of_resuming("modified sub-sampling", self.replicate, self.compare)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "modified sub-sampling", self.min_resource, self.max_resource)
        plan = [one_bracket(top, self.min_resource, self.eta, self.arms)]
        rule = ModifiedSubSamplingRule(self.eta, self.beta, self.weights, self.replicate, self.compare)
        return next_in_brackets(history, plan, rule, self.overlap, may_start)


def check_beta(beta: float) -> None:
    if not 0 <= beta < math.inf:
        raise MethodError(f"beta is {beta!r}; it is how much an unexplored arm is preferred, from 0 on; try 0.1")
