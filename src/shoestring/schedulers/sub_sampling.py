"""Sub-sampling: arms that may still beat the leader are evaluated again, with more budget.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, Algorithm 4; the arithmetic is in ``models/sub_sampling.py``.

Read literally, a bracket goes: all arms; the leader alone (counts are equal, the comparison is strict); everyone else
(case a); the leader alone; and so on. With K arms and no noise the rounds from the second have 1, K−1, 1, K−1, 1, 1, …
evaluations, and case (b), the comparison itself, first happens in round 5 (K ≤ 26) or 7. So inside a bracket of few
rounds it never does; ``compare="rung"`` and modified sub-sampling do not have that flaw.

Differs from the paper in nothing with ``compare="evaluations"`` and ``weights="equal"``; the other values of the two
answer what the paper leaves open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.models import sub_sampling as maths
from shoestring.schedulers.brackets import Bracket, next_in_brackets, one_bracket
from shoestring.schedulers.evaluations import (
    Comparison,
    Record,
    Weighting,
    leader_of,
    warn_of_resuming,
    worst_stretches,
)
from shoestring.schedulers.rungs import Replication, check_options, top_resource


@dataclass(frozen=True)
class SubSampling:
    """Algorithm 4: evaluate all arms that may still beat the leader, or the leader if none can.

    Fresh initialisations by default: averaging readings of one initialisation does not help.
    """

    eta: float = 3
    min_resource: int = 1
    arms: int | None = None
    weights: Weighting = "equal"
    replicate: Replication = "fresh"
    compare: Comparison = "evaluations"
    overlap: bool = True
    reference: ClassVar[str] = (
        "Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter "
        "optimization, arXiv:2007.05670"
    )

    def __post_init__(self) -> None:
        check_options(self)
        warn_of_resuming("sub-sampling", self.replicate, self.compare)

    def record(self) -> Record:
        return Record(self.compare, self.weights)

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        """b in the first round, then eta^r·b for r = 2 … ⌈log_eta(R/b)⌉ (lines 1, 2, 6 and 8)."""
        if turn == 0:
            return bracket.first
        r = turn + 1
        if r > math.ceil(math.log(bracket.last / bracket.first, self.eta) - 1e-9):
            return None
        return min(int(bracket.first * self.eta**r + 1e-9), bracket.last)

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        return with_potential(records)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "sub-sampling", self.min_resource)
        plan = [one_bracket(top, self.min_resource, self.eta, self.arms)]
        return next_in_brackets(history, plan, self, may_start)


def with_potential(records: list[Record]) -> list[int]:
    """Return who is evaluated next: all that have potential against the leader, or else the leader."""
    best = leader_of(records)  # line 3
    if best is None:
        return []
    q = maths.threshold(sum(record.count for record in records))
    worst = worst_stretches(best)
    chosen = [  # line 4
        k
        for k, record in enumerate(records)
        if not record.failed
        and record.count < best.count
        and maths.has_potential(record.count, record.mean, best.count, worst(record), q)
    ]
    return chosen or [next(k for k, record in enumerate(records) if record is best)]  # lines 5 to 9
