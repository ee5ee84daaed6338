"""Brackets of arms that are evaluated in rounds; a rule says who goes into the next round.

Successive halving, sub-sampling and modified sub-sampling differ in nothing but that rule, and
Hyperband, BOHB and BOSS in nothing but how many arms a bracket has and who proposes them.

Arms belong to brackets in the order in which they were started, and a round ends when all of its evaluations are in,
so the log alone says how far each bracket is.
"""

from __future__ import annotations

import math
from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from shoestring.core.decisions import Continue, Decision, Done, Replicate, Start, Wait
from shoestring.core.history import FAILED, Arm, Cursor, History, TrialRecord
from shoestring.schedulers.evaluations import Record
from shoestring.schedulers.rungs import Replication


@dataclass(frozen=True)
class Bracket:
    """The number of arms that start (K), their first budget (b) and the largest (R)."""

    arms: int
    first: int
    last: int


class Rule(Protocol):
    """A rule for the arms that are evaluated in each round of a bracket, and for their budget."""

    @property
    def replicate(self) -> Replication: ...

    @property
    def overlap(self) -> bool:
        """Return whether the next bracket starts while this one waits for a report."""
        ...

    def record(self) -> Record:
        """An empty record of an arm, of the kind that this rule compares."""
        ...

    def budget(self, bracket: Bracket, turn: int) -> int | None:
        """The budget of a round, counted from 0; None when the bracket is over."""
        ...

    def select(self, bracket: Bracket, turn: int, records: list[Record], standing: list[int]) -> list[int]:
        """Positions of the arms of a later round; ``standing`` were in the round before. Empty: over."""
        ...


def halvings(last: int, first: int, eta: float) -> int:
    """⌊log_eta(R / b)⌋."""
    return math.floor(math.log(last / first, eta) + 1e-9)


def hyperband_brackets(top: int, min_resource: int, eta: float) -> list[Bracket]:
    """Algorithm 2 (Hyperband): s = s_max … 0, K = ⌈(s_max + 1) / (s + 1) · eta^s⌉, b = R·eta^−s."""
    s_max = halvings(top, min_resource, eta)
    return [
        Bracket(math.ceil((s_max + 1) / (s + 1) * eta**s - 1e-9), int(top / eta**s + 1e-9), top)
        for s in range(s_max, -1, -1)
    ]


def ladder_budget(bracket: Bracket, turn: int, eta: float) -> int | None:
    """b·eta^r, rounded down from the top, for as long as that is at most R."""
    s = halvings(bracket.last, bracket.first, eta)
    return int(bracket.last / eta ** (s - turn) + 1e-9) if turn <= s else None


def one_bracket(top: int, min_resource: int, eta: float, arms: int | None) -> Bracket:
    """A bracket that starts as low as it may and has enough arms for one to reach the top."""
    s = halvings(top, min_resource, eta)
    return Bracket(arms or round(eta**s), int(top / eta**s + 1e-9), top)


def quota(arms: int, turn: int, eta: float) -> int:
    """Compute K_r = ⌊K·eta^−r⌋, at least 1."""
    return max(1, math.floor(arms / eta**turn + 1e-9))


@dataclass
class _Progress:
    """The progress of one bracket: the round, its arms, and the results of the rounds before."""

    turn: int = 0
    standing: list[int] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    over: bool = False


class _Brackets:
    """The progress of all brackets; those that are over stay so.

    A bracket that waits for a report waits until one of its trials has paused or ended. So only brackets in which
    something happened are looked at again, however many are open at once.
    """

    def __init__(self, plan: list[Bracket]) -> None:
        self.brackets: list[_Progress] = []
        self.first_open = 0
        self.waiting: dict[int, Wait] = {}
        self._ends = list(accumulate(bracket.arms for bracket in plan))
        self._grants, self._readings, self._closings = Cursor(), Cursor(), Cursor()

    def update(self, history: History) -> _Brackets:
        changed = {grant.arm for grant in self._grants.new(history.grants)}
        changed.update(trial.arm for trial, _, _ in self._readings.new(history.readings) if trial.state != "running")
        changed.update(trial.arm for trial in self._closings.new(history.closings))
        for arm in changed:
            self.waiting.pop(self._number(arm), None)
        return self

    def _number(self, arm: int) -> int:
        """The bracket of an arm."""
        rounds, rest = divmod(arm, self._ends[-1])
        return rounds * len(self._ends) + bisect(self._ends, rest)


def next_in_brackets(
    history: History, plan: list[Bracket], rule: Rule, may_start: bool = True, iterations: int | None = None
) -> Decision:
    """Return the next action of the earliest bracket that has one; nothing after this number of ``iterations``."""
    state = history.cached(("brackets", tuple(plan), rule), lambda: _Brackets(plan)).update(history)
    number = state.first_open
    offset = _offset(plan, number)
    while iterations is None or number < iterations:
        current = plan[number % len(plan)]
        if number == len(state.brackets):
            state.brackets.append(_Progress())
        progress = state.brackets[number]
        answer = state.waiting.get(number)
        if answer is None and not progress.over:
            found = _next_in_bracket(history, current, offset, progress, rule, number, may_start)
            if isinstance(found, (Start, Continue, Replicate)):
                return found
            answer = found
        complete = len(history.arms) >= offset + current.arms
        if answer is not None and complete:
            state.waiting[number] = answer
        if progress.over and number == state.first_open:
            state.first_open += 1
        if not complete:
            return Done("every configuration has been tried")
        if answer is not None and not rule.overlap:
            return answer
        number, offset = number + 1, offset + current.arms
    waits = [wait for bracket, wait in state.waiting.items() if bracket >= state.first_open]
    return waits[0] if waits else Done(f"all brackets are complete (iterations={iterations})")


def first_of_bracket(plan: list[Bracket], arm: int) -> int:
    """The arm with which the bracket of an arm begins."""
    ends = list(accumulate(bracket.arms for bracket in plan))
    rounds, rest = divmod(arm, ends[-1])
    return rounds * ends[-1] + max((end for end in ends if end <= rest), default=0)


def _offset(plan: list[Bracket], number: int) -> int:
    """Return how many arms are in the brackets before this one."""
    rounds, rest = divmod(number, len(plan))
    return rounds * sum(bracket.arms for bracket in plan) + sum(bracket.arms for bracket in plan[:rest])


def _next_in_bracket(
    history: History, current: Bracket, offset: int, at: _Progress, rule: Rule, number: int, may_start: bool
) -> Start | Continue | Replicate | Wait | None:
    """Decide what a bracket needs now; a Wait if it is a report, None if the bracket is over."""
    members = history.arms[offset : offset + current.arms]
    if at.turn:
        members = members[: len(at.records)]  # the bracket went on without the arms that it could not get
    elif len(members) < current.arms and may_start:
        reason = f"configuration {len(members) + 1} of {current.arms} of bracket {number + 1}"
        return Start(current.first, reason)
    while not at.over:
        budget = rule.budget(current, at.turn)
        if budget is None or not members:
            at.over = True
            break
        if at.turn == 0 and len(at.records) != len(members):
            at.standing = list(range(len(members)))
            at.records = [rule.record() for _ in members]
        todo = _open_evaluation(members, at, rule, budget, number)
        if todo is not None:
            return todo
        _take_in(members, at, rule, budget)
        at.turn += 1
        if rule.budget(current, at.turn) is not None:
            at.standing = rule.select(current, at.turn, at.records, at.standing)
        at.over = not at.standing
    return None


def _open_evaluation(
    members: list[Arm], at: _Progress, rule: Rule, budget: int, number: int
) -> Continue | Replicate | Wait | None:
    """An evaluation of this round that is still to be started, or a Wait if one is running."""
    running = None
    for rank, position in enumerate(at.standing):
        arm, record = members[position], at.records[position]
        trial = _trial(arm, record, rule.replicate)
        reason = f"number {rank + 1} of round {at.turn + 1} of bracket {number + 1}, to step {budget}"
        if trial is None:
            return Replicate(arm.index, budget, f"{reason}, from a fresh start")
        if trial.state == "paused" and trial.step < budget:
            return Continue(trial.index, budget, reason)
        if trial.state == "running" and trial.step < budget:
            running = Wait(f"round {at.turn + 1} of bracket {number + 1} is not complete")
    return running


def _trial(arm: Arm, record: Record, replicate: Replication) -> TrialRecord | None:
    """The trial of an arm's next evaluation; None if it has to be started."""
    if replicate == "resume":
        return arm.trials[0]
    return arm.trials[len(record.values)] if len(record.values) < len(arm.trials) else None


def _take_in(members: list[Arm], at: _Progress, rule: Rule, budget: int) -> None:
    """The round is complete: its evaluations become the arms' record."""
    for position in at.standing:
        record = at.records[position]
        trial = _trial(members[position], record, rule.replicate)
        assert trial is not None
        # A result from elsewhere may have failed after this step. A trial of our own has not: it paused there.
        if trial.loss(budget) is None or (trial.foreign and trial.state in FAILED):
            record.fail()
        else:
            start = record.budgets[-1] if rule.replicate == "resume" and record.budgets else 0
            record.add(trial, budget, start)
