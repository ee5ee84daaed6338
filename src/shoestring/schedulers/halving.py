"""Successive halving and Hyperband: the best 1/eta of each round go on.

Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
AISTATS 2016; Li et al., Hyperband, JMLR 18 (2018), Algorithm 1.

=========  ==========================================================
K, b       arms of a bracket and their first budget
R, eta     the most resource a trial can have; the share that goes on
=========  ==========================================================

Differs from the papers in that going on costs only the added steps (``replicate="resume"``), and in
that with several workers the next bracket begins while the last one waits for its slowest trial
(``overlap``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.schedulers.brackets import Bracket, halvings, hyperband_brackets, ladder_budget, next_in_brackets
from shoestring.schedulers.evaluations import Record, check_options
from shoestring.schedulers.rungs import check_rungs, top_resource


def quota(arms: int, turn: int, eta: float) -> int:
    """K_r = ⌊K·eta^−r⌋, and never nobody."""
    return max(1, math.floor(arms / eta**turn + 1e-9))


@dataclass(frozen=True)
class HalvingRule:
    """The best K_r by their last evaluation; with ``weights``, by the weighted mean of all of theirs."""

    eta: float = 3
    weights: str | None = None
    replicate: str = "resume"

    def record(self) -> Record:
        return Record(weighting=self.weights)

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        return ladder_budget(bracket, turn, self.eta)

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        def loss(position: int) -> float:
            record = records[position]
            return record.mean if self.weights else record.values[-1]

        usable = [position for position in standing if not records[position].failed]
        return sorted(usable, key=lambda position: (loss(position), position))[: quota(len(records), turn, self.eta)]


@dataclass(frozen=True)
class SuccessiveHalving:
    """Start ``arms`` arms at ``min_resource`` and carry the best 1/``eta`` of each round on; then again.

    ``arms`` is eta^s unless given, so that one arm reaches the top after s halvings.
    """

    eta: float = 3
    min_resource: int = 1
    max_resource: int | None = None
    arms: int | None = None
    weights: str | None = None
    replicate: str = "resume"
    overlap: bool = True
    reference: ClassVar[str] = "Jamieson and Talwalkar, Non-stochastic best arm identification, AISTATS 2016"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        check_options(self.weights, self.replicate)
        check_arms(self.arms)

    def plan(self, history: History) -> list[Bracket]:
        top = top_resource(history, "successive halving", self.min_resource, self.max_resource)
        return [one_bracket(top, self.min_resource, self.eta, self.arms)]

    def next(self, history: History, may_start: bool = True) -> Decision:
        rule = HalvingRule(self.eta, self.weights, self.replicate)
        return next_in_brackets(history, self.plan(history), rule, self.overlap, may_start)


@dataclass(frozen=True)
class Hyperband:
    """Successive halving from every starting resource in turn, the most aggressive bracket first.

    ``brackets`` limits how many of them are used: 1 is successive halving.
    """

    eta: float = 3
    min_resource: int = 1
    max_resource: int | None = None
    brackets: int | None = None
    weights: str | None = None
    replicate: str = "resume"
    overlap: bool = True
    reference: ClassVar[str] = "Li et al., Hyperband: a novel bandit-based approach, JMLR 18 (2018)"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        check_options(self.weights, self.replicate)
        if self.brackets is not None and self.brackets < 1:
            raise MethodError(f"brackets is {self.brackets}; there is at least one")

    def plan(self, history: History) -> list[Bracket]:
        top = top_resource(history, "hyperband", self.min_resource, self.max_resource)
        return hyperband_brackets(top, self.min_resource, self.eta)[: self.brackets]

    def next(self, history: History, may_start: bool = True) -> Decision:
        rule = HalvingRule(self.eta, self.weights, self.replicate)
        return next_in_brackets(history, self.plan(history), rule, self.overlap, may_start)


def check_arms(arms: int | None) -> None:
    if arms is not None and arms < 1:
        raise MethodError(f"arms is {arms}; a bracket has at least one arm")


def one_bracket(top: int, min_resource: int, eta: float, arms: int | None) -> Bracket:
    """A bracket that begins as low as it may and has enough arms for one to reach the top."""
    s = halvings(top, min_resource, eta)
    return Bracket(arms or round(eta**s), int(top / eta**s + 1e-9), top)
