"""Parallel BOSS: brackets in which no worker ever waits.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, Algorithms 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Continue, Decision, Done, Replicate, Sampler, Start, Wait, read_state
from shoestring.core.history import Arm, Cursor, History
from shoestring.core.untried import propose_new
from shoestring.methods.boss import LearnFrom, bracket_model
from shoestring.schedulers.brackets import Bracket, halvings, hyperband_brackets, ladder_budget, quota
from shoestring.schedulers.evaluations import Comparison, Record, Weighting, warn_of_resuming
from shoestring.schedulers.modified_sub_sampling import potentials
from shoestring.schedulers.rungs import Replication, check_options, cut_short, top_resource
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class ParallelBOSS:
    """Algorithms 7 and 8: BOSS in which no worker ever waits.

    Round r of a bracket has room for ⌊K·eta^−r⌋ evaluations. A free worker takes the next of the round
    being filled: in round 0 a new arm, later the arm of the bracket with the most potential by what is
    known so far. When all rounds are filled the next bracket starts, even while arms are still running.

    Differs from the paper in that brackets come in Hyperband's order instead of at random, and in that
    an arm is proposed when its turn comes, by a model of what is known by then of the brackets before
    (``learn_from="all"``: of all brackets). Those are seldom complete, as no worker waits for them.
    After ``iterations`` brackets the study is complete.
    """

    eta: float = 3
    min_resource: int = 1
    beta: float = 0.1
    weights: Weighting = "equal"
    replicate: Replication = "fresh"
    compare: Comparison = "evaluations"
    sampler: Sampler = field(default_factory=bracket_model)
    learn_from: LearnFrom = field(default="earlier", metadata={"before": "all"})
    iterations: int | None = None
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_options(self)
        warn_of_resuming("parallel BOSS", self.replicate, self.compare)

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        top = top_resource(history, "parallel boss", self.min_resource)
        plan = hyperband_brackets(top, self.min_resource, self.eta)
        unfinished = cut_short(history, sorted({budget for bracket in plan for budget in _budgets(bracket, self.eta)}))
        if unfinished is not None:
            return unfinished
        filled = history.cached("parallel boss", _Filled).update(history)
        exhausted = False
        for number, bracket, turn, budget in self._places(plan, filled):
            if turn == 0:
                proposal = (
                    None if exhausted else propose_new(self.sampler, self._model_history(history, filled, number), rng)
                )
                if proposal is not None:
                    reason = f"a configuration of bracket {number + 1}; {proposal.reason}"
                    return Start(
                        budget, reason, proposal.config, proposal.explanation, _Place(number, 0), proposal.state
                    )
                exhausted = True
                if number > filled.last:
                    return Done("every configuration has been tried")
                continue
            arms = [history.arms[i] for i in filled.arms(number, 0)]
            chosen = self._choose(arms, set(filled.arms(number, turn)), budget, _budgets(bracket, self.eta), rng)
            if chosen is not None:
                return self._evaluation(chosen, number, turn, budget)
        if history.running:
            return Wait("every evaluation of the last bracket is under way")
        return Done(f"all brackets are complete (iterations={self.iterations})")

    def _model_history(self, history: History, filled: _Filled, number: int) -> History:
        """The history for the model of the next arm: of the brackets before the arm's own."""
        own = filled.arms(number, 0)
        return history if self.learn_from == "all" else history.before(own[0] if own else len(history.arms))

    def _places(self, plan: list[Bracket], filled: _Filled) -> Iterator[tuple[int, Bracket, int, int]]:
        """Rounds with room, from the bracket being filled on (Algorithm 8, lines 1 to 3)."""
        number = filled.last
        while self.iterations is None or number < self.iterations:
            bracket = plan[number % len(plan)]
            for turn, budget in enumerate(_budgets(bracket, self.eta)):
                if len(filled.arms(number, turn)) < quota(bracket.arms, turn, self.eta):
                    yield number, bracket, turn, budget
            number += 1

    def _choose(
        self, arms: list[Arm], scheduled: set[int], budget: int, budgets: list[int], rng: np.random.Generator
    ) -> Arm | None:
        """The top arm by V_k of those not in this round yet (lines 5 to 9 and 13 to 17)."""
        records = [self._record(arm, budgets) for arm in arms]
        values = potentials(records, self.beta)
        free = [
            k
            for k, arm in enumerate(arms)
            if arm.index not in scheduled and not records[k].failed and self._available(arm, budget)
        ]
        known = [k for k in free if records[k].values]
        if known:
            return arms[min(known, key=lambda k: (values[k], k))]
        return arms[free[int(rng.integers(len(free)))]] if free else None

    def _available(self, arm: Arm, budget: int) -> bool:
        trial = arm.trials[-1]
        return self.replicate == "fresh" or (trial.state == "paused" and trial.step < budget)

    def _record(self, arm: Arm, budgets: list[int]) -> Record:
        """The evaluations of an arm that are in: where fresh trials were sent, or rungs that one trial passed."""
        record = Record(self.compare, self.weights)
        for trial in arm.trials:
            for budget in [trial.until] if self.replicate == "fresh" else budgets:
                if trial.loss(budget) is not None:
                    record.add(
                        trial, budget, record.budgets[-1] if self.replicate == "resume" and record.budgets else 0
                    )
        if any(trial.state in ("failed", "lost", "stopped") for trial in arm.trials):
            record.fail()
        return record

    def _evaluation(self, arm: Arm, number: int, turn: int, budget: int) -> Continue | Replicate:
        reason = f"the most promising configuration of bracket {number + 1} for round {turn + 1}, to step {budget}"
        if self.replicate == "resume":
            return Continue(arm.trials[-1].index, budget, reason, state=_Place(number, turn))
        return Replicate(arm.index, budget, f"{reason}, from a fresh start", state=_Place(number, turn))


def _budgets(bracket: Bracket, eta: float) -> list[int]:
    """b, b·eta, … R."""
    turns = range(halvings(bracket.last, bracket.first, eta) + 1)
    return [budget for turn in turns if (budget := ladder_budget(bracket, turn, eta)) is not None]


@dataclass(frozen=True)
class _Place:
    """Return the bracket and the round that a grant belongs to, counted from 0."""

    bracket: int
    round: int


class _Filled:
    """The arms that were sent into each round of each bracket."""

    def __init__(self) -> None:
        self.last = 0
        self._grants = Cursor()
        self._arms: dict[tuple[int, int], list[int]] = {}

    def update(self, history: History) -> _Filled:
        for grant in self._grants.new(history.grants):
            place = read_state(_Place, grant.state)
            if place is not None:
                self._arms.setdefault((place.bracket, place.round), []).append(grant.arm)
                self.last = max(self.last, place.bracket)
        return self

    def arms(self, number: int, turn: int) -> list[int]:
        return self._arms.get((number, turn), [])
