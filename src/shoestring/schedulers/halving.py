"""Successive halving and Hyperband: brackets of arms, the best 1/eta of each rung going on.

Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
AISTATS 2016; Li et al., Hyperband, JMLR 18 (2018), Algorithm 1.

=========  ==========================================================
n, r       arms of a bracket and their first resource
R, eta     the most resource a trial can have; the share that goes on
s          number of halvings in a bracket, s_max the most
=========  ==========================================================

Arms belong to brackets in the order in which they were started, so the log alone says where each
stands. Differs from the paper in that going on costs only the added steps, and in that with several
workers the next bracket begins while the last one waits for its slowest trial (``overlap``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoestring.errors import MethodError
from shoestring.history import Arm, History
from shoestring.method import Continue, Decision, Done, Start, Wait
from shoestring.schedulers.rungs import check_rungs, top_resource


@dataclass(frozen=True)
class Bracket:
    """How many arms begin, and the rungs at which they are compared."""

    arms: int
    rungs: tuple[int, ...]

    def quota(self, level: int, eta: float, members: int) -> int:
        """How many may stand on a rung: n_i = floor(n / eta^i), and never nobody (JMLR, line 6)."""
        return max(1, math.floor(min(self.arms, members) / eta**level + 1e-9))


def halvings(top: int, min_resource: int, eta: float) -> int:
    """s_max = floor(log_eta(R / r)) (JMLR, Algorithm 1, initialisation)."""
    return math.floor(math.log(top / min_resource, eta) + 1e-9)


def bracket(top: int, s: int, arms: int, eta: float) -> Bracket:
    """The bracket that halves s times: its rungs end at R and are eta apart, rounded down."""
    return Bracket(arms, tuple(int(top / eta ** (s - i) + 1e-9) for i in range(s + 1)))


@dataclass(frozen=True)
class SuccessiveHalving:
    """Start ``arms`` arms at ``min_resource`` and carry the best 1/``eta`` of each rung on; then again.

    ``arms`` is eta^s_max unless given, so that one arm reaches the top.
    """

    eta: float = 3
    min_resource: int = 1
    arms: int | None = None
    overlap: bool = True
    reference: ClassVar[str] = "Jamieson and Talwalkar, Non-stochastic best arm identification, AISTATS 2016"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        if self.arms is not None and self.arms < 1:
            raise MethodError(f"arms is {self.arms}; a bracket has at least one arm")

    def plan(self, history: History) -> list[Bracket]:
        top = top_resource(history, "successive halving", self.min_resource)
        s = halvings(top, self.min_resource, self.eta)
        return [bracket(top, s, self.arms or round(self.eta**s), self.eta)]

    def next(self, history: History, may_start: bool = True) -> Decision:
        return next_in_brackets(history, self.plan(history), self.eta, self.overlap, may_start)


@dataclass(frozen=True)
class Hyperband:
    """Successive halving from every starting resource in turn, the most aggressive bracket first.

    ``brackets`` limits how many of them are used: 1 is successive halving.
    """

    eta: float = 3
    min_resource: int = 1
    brackets: int | None = None
    overlap: bool = True
    reference: ClassVar[str] = "Li et al., Hyperband: a novel bandit-based approach, JMLR 18 (2018)"

    def __post_init__(self) -> None:
        check_rungs(self.eta, self.min_resource)
        if self.brackets is not None and self.brackets < 1:
            raise MethodError(f"brackets is {self.brackets}; there is at least one")

    def plan(self, history: History) -> list[Bracket]:
        top = top_resource(history, "hyperband", self.min_resource)
        s_max = halvings(top, self.min_resource, self.eta)
        # n = ceil((s_max + 1) / (s + 1) * eta^s)   (JMLR, line 2)
        sizes = {s: math.ceil((s_max + 1) / (s + 1) * self.eta**s - 1e-9) for s in range(s_max, -1, -1)}
        return [bracket(top, s, n, self.eta) for s, n in sizes.items()][: self.brackets]

    def next(self, history: History, may_start: bool = True) -> Decision:
        return next_in_brackets(history, self.plan(history), self.eta, self.overlap, may_start)


class _Progress:
    """How many brackets are over, and where the next one's arms begin; neither ever goes back."""

    def __init__(self) -> None:
        self.number = 0
        self.offset = 0


def next_in_brackets(history: History, plan: list[Bracket], eta: float, overlap: bool, may_start: bool) -> Decision:
    """The first thing to do in the earliest bracket that has something to do."""
    progress = history.cached(("brackets", tuple(plan), eta), _Progress)
    number, offset = progress.number, progress.offset
    while True:
        current = plan[number % len(plan)]
        members = history.arms[offset : offset + current.arms]
        answer = _next_in_bracket(history, current, members, eta, number, may_start)
        if isinstance(answer, (Start, Continue)):
            return answer
        full = len(members) == current.arms
        if answer is None and full and number == progress.number:
            progress.number, progress.offset = number + 1, offset + current.arms
        if not full:
            return (
                Wait("a bracket waits for its trials")
                if history.running
                else Done("every configuration has been tried")
            )
        if answer is not None and not overlap:
            return answer
        number, offset = number + 1, offset + current.arms


def _next_in_bracket(
    history: History, current: Bracket, members: list[Arm], eta: float, number: int, may_start: bool
) -> Start | Continue | Wait | None:
    """What a bracket needs now; a Wait if that is a report, None if it is over."""
    if len(members) < current.arms and may_start:
        reason = f"arm {len(members) + 1} of {current.arms} of bracket {number + 1}"
        return Start(current.rungs[0], reason, notes={"bracket": number})
    standing = members
    for level, rung in enumerate(current.rungs):
        if level:
            losses = [(arm.trials[0].loss(current.rungs[level - 1]), arm) for arm in standing]
            ranked = sorted((loss, arm.index, arm) for loss, arm in losses if loss is not None)
            standing = [arm for _, _, arm in ranked[: current.quota(level, eta, len(members))]]
        waits = False
        for rank, arm in enumerate(standing):
            trial = arm.trials[0]
            if trial.state == "paused" and trial.step < rung:
                reason = f"number {rank + 1} of rung {level} of bracket {number + 1}, on to step {rung}"
                return Continue(trial.index, rung, reason, {"bracket": number})
            waits = waits or (trial.state == "running" and trial.step < rung)
        if waits:
            return Wait(f"rung {level} of bracket {number + 1} is not complete")
    return None
