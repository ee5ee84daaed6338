"""The contracts of samplers and schedulers: the laws of methods, and what a study may ask of one part alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shoestring.core.composition import compose
from shoestring.core.decisions import Decision, Proposal, Sampler, Scheduler, Start, write_state
from shoestring.core.grants import Grant
from shoestring.core.history import History
from shoestring.problems import CurveTable
from shoestring.samplers import Random
from shoestring.schedulers import Full
from shoestring.spaces.codec import Codec, Config
from shoestring.testing.laws import check_decision, check_method, check_rank_based, possible_decisions, pure
from shoestring.testing.playground import asked

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

FINITE = {"a": ["red", "green", "blue"], "b": (1, 2)}


def check_sampler(sampler: Sampler) -> None:
    """Every law, with each configuration run to the end; and spaces and readings that are easily forgotten."""
    check_method(compose(sampler, Full()))
    with possible_decisions():
        for law in SAMPLER_LAWS.values():
            law(sampler)


def check_finite_spaces(sampler: Sampler) -> None:
    """A space that can be listed is tried once and whole; so is a table of recorded curves."""
    table = CurveTable([[float(i), float(i % 3)] for i in range(8)], [[float(i)] for i in range(8)])
    for space, size in ((FINITE, 6), ({"a": ["only"]}, 1), (table.space, 8)):
        study = asked(compose(WatchedSampler(sampler), Full()), space, _vary, budget="50 evaluations")
        tried = {Codec.key(arm.config) for arm in study.history.arms}
        assert len(tried) == len(study.trials) == size, f"finite spaces: {len(tried)} of {size} configurations tried"


def check_little_to_learn_from(sampler: Sampler) -> None:
    """Only failures, then readings that are all equal, on a space with a condition and a forbidden clause."""

    def answer(grant: Grant) -> float | None:
        return None if grant.trial < 14 else 1.0

    watched = WatchedSampler(sampler)
    study = asked(compose(watched, Full()), _difficult_space(), answer, budget="30 evaluations")
    assert len(study.trials) == 30, f"little to learn from: it gave up after {len(study.trials)} trials"
    for arm in study.history.arms:  # a study makes up its own where a sampler repeats itself
        assert arm.config in watched.proposed, "no duplicates: the sampler proposes again and again what was tried"


def _difficult_space() -> ConfigurationSpace:
    from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, ForbiddenEqualsClause

    space = ConfigurationSpace()
    kind, x, y = Categorical("kind", ["p", "q", "never"]), Float("x", (0.0, 1.0)), Float("y", (1e-3, 10.0), log=True)
    space.add([kind, x, y, EqualsCondition(y, kind, "p"), ForbiddenEqualsClause(kind, "never")])
    return space


def _vary(grant: Grant) -> float | None:
    return None if grant.trial % 4 == 3 else float(grant.trial % 3)


@dataclass(frozen=True)
class WatchedSampler:
    """A sampler whose every proposal is checked and kept."""

    sampler: Sampler
    proposed: list[Config] = field(default_factory=list)

    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        with pure(history):
            proposal = self.sampler.propose(history, rng)
        if proposal is None:
            return None
        assert isinstance(proposal, Proposal), f"proposals: {proposal!r} is none"
        assert proposal.reason.strip(), f"reasons: {proposal!r} has no reason"
        try:
            json.dumps((proposal.explanation, write_state(proposal.state)), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"stable JSON: {proposal!r} cannot be written: {error}") from error
        self.proposed.append(proposal.config)
        return proposal


def check_scheduler(scheduler: Scheduler) -> None:
    """Every law, with random configurations; scaling the readings changes no decision; and the ends of a study."""
    check_method(compose(Random(), scheduler))
    with possible_decisions():
        for law in SCHEDULER_LAWS.values():
            law(scheduler)


def check_no_more_configurations(scheduler: Scheduler) -> None:
    """A finite space runs out, with trials still running or paused: the study goes on with these, and ends."""
    for held in (1, 3):
        method = compose(Random(), WatchedScheduler(scheduler))
        study = asked(method, FINITE, _vary, budget="1000 steps", max_resource=9, held=held)
        assert len(study.history.arms) == 6, f"finite spaces: {len(study.history.arms)} of 6 configurations tried"


def check_only_failures(scheduler: Scheduler) -> None:
    """While everything fails, new configurations are started; afterwards the study goes on as usual."""

    def answer(grant: Grant) -> float | None:
        return None if grant.trial < 14 else grant.config["x"] + 1 / grant.until

    method = compose(Random(), WatchedScheduler(scheduler))
    study = asked(method, {"x": (0.0, 1.0)}, answer, budget="100 steps", max_resource=9)
    assert study.remaining["steps"] == 0, f"only failures: it gave up with {study.remaining['steps']:g} steps left"
    assert any(trial.step == 9 for trial in study.trials), "only failures: nothing was run to the end afterwards"


# Besides the laws of methods.
SAMPLER_LAWS: dict[str, Callable[[Sampler], None]] = {
    "finite spaces": check_finite_spaces,
    "little to learn from": check_little_to_learn_from,
}
SCHEDULER_LAWS: dict[str, Callable[[Scheduler], None]] = {
    "rank-based": lambda scheduler: check_rank_based(compose(Random(), scheduler)),
    "no more configurations": check_no_more_configurations,
    "only failures": check_only_failures,
}


@dataclass(frozen=True)
class WatchedScheduler:
    """A scheduler whose every decision is checked."""

    scheduler: Scheduler

    def next(self, history: History, may_start: bool = True) -> Decision:
        with pure(history):
            decision = self.scheduler.next(history, may_start)
        check_decision(decision, history)
        if isinstance(decision, Start):
            assert may_start, f"may_start: {decision!r}, although there are no new configurations"
            assert decision.config is None, f"may_start: {decision!r} chooses a configuration, which a sampler does"
        return decision
