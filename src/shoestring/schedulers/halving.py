"""Successive halving and Hyperband: the best 1/eta of each round go on.

Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016;
Li et al., Hyperband: a novel bandit-based approach to hyperparameter optimization, JMLR 18 (2018), Algorithm 1.

=========  ==========================================================
K, b       arms of a bracket and their first budget
R, eta     the most resource a trial can have; 1/eta of the arms go on
=========  ==========================================================

Differs from the papers in that going on costs only the added steps (``replicate="resume"``), and in that with several
workers the next bracket starts while the last one waits for its slowest trial (``overlap``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.core.weighing import Judges
from shoestring.schedulers.brackets import (
    Bracket,
    hyperband_brackets,
    ladder_budget,
    next_in_brackets,
    one_bracket,
    quota,
)
from shoestring.schedulers.evaluations import Record
from shoestring.schedulers.rungs import Replication, check_options, top_resource


@dataclass(frozen=True)
class SuccessiveHalving:
    """Start ``arms`` configurations at ``min_resource`` and carry the best 1/``eta`` of each round on; then again.

    ``arms`` is eta^s unless given, so that one reaches the top after s halvings.
    """

    eta: float = 3
    min_resource: int = 1
    arms: int | None = None
    replicate: Replication = "resume"
    overlap: bool = True
    judges: ClassVar[Judges] = "ranked"
    reference: ClassVar[str] = (
        "Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016"
    )

    def __post_init__(self) -> None:
        check_options(self)

    def record(self) -> Record:
        return Record()

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        return ladder_budget(bracket, turn, self.eta)

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        """The best K_r of those that were in the round before, by their last evaluation."""
        usable = [k for k in standing if not records[k].failed]
        return sorted(usable, key=lambda k: (records[k].values[-1], k))[: quota(len(records), turn, self.eta)]

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "successive halving", self.min_resource)
        plan = [one_bracket(top, self.min_resource, self.eta, self.arms)]
        return next_in_brackets(history, plan, self, may_start)


@dataclass(frozen=True)
class Hyperband:
    """Successive halving from every starting resource in turn, the most aggressive bracket first.

    ``brackets`` limits how many of them are used: 1 is successive halving. After ``iterations`` brackets in all the
    study is complete; without it they go on, from the first again, until the budget is spent.
    """

    eta: float = 3
    min_resource: int = 1
    brackets: int | None = None
    replicate: Replication = "resume"
    overlap: bool = True
    iterations: int | None = None
    judges: ClassVar[Judges] = "ranked"
    reference: ClassVar[str] = (
        "Li et al., Hyperband: a novel bandit-based approach to hyperparameter optimization, JMLR 18 (2018)"
    )

    def __post_init__(self) -> None:
        check_options(self)

    def next(self, history: History, may_start: bool = True) -> Decision:
        top = top_resource(history, "hyperband", self.min_resource)
        plan = hyperband_brackets(top, self.min_resource, self.eta)[: self.brackets]
        rule = SuccessiveHalving(self.eta, 1, None, self.replicate, self.overlap)
        return next_in_brackets(history, plan, rule, may_start, self.iterations)
