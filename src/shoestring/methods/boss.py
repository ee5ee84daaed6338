"""BOHB and BOSS: brackets whose configurations a model proposes.

Falkner, Klein and Hutter, BOHB: robust and efficient hyperparameter optimization, ICML 2018; Huang, Li, Ye, Li and
Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization, arXiv:2007.05670,
Algorithms 3 and 5.

Both have Hyperband's brackets. The configurations of a bracket are proposed by a Parzen model (TPE) of the brackets
before it, those of the first one at random. The model is fitted at the highest resource that |D| + 2 configurations
reached; a third of the later configurations is random too. They differ in the rule that says who goes on.

Differs from the papers in that a configuration of the same bracket counts among the bad ones (the constant liar), so
that those of a bracket differ; that with several workers the next bracket starts before the last one is complete
(``overlap``), from what is known of the brackets before it at that moment; and in the sampler: see :meth:`TPE.wide`
and :meth:`BOHB.paper`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from shoestring.core.composition import with_sampler
from shoestring.core.decisions import Decision, Sampler
from shoestring.core.history import History
from shoestring.core.weighing import Judges
from shoestring.samplers.tpe import TPE
from shoestring.schedulers.brackets import Bracket, Rule, first_of_bracket, hyperband_brackets, next_in_brackets
from shoestring.schedulers.evaluations import Comparison, Weighting
from shoestring.schedulers.halving import Hyperband
from shoestring.schedulers.modified_sub_sampling import ModifiedSubSampling
from shoestring.schedulers.rungs import Replication, check_options, top_resource
from shoestring.schedulers.sub_sampling import SubSampling

# The arms that the model of a bracket learns from.
LearnFrom = Literal["earlier", "all"]


def bracket_model() -> TPE:
    """The model of BOHB and BOSS. It has no first design of its own: the first bracket is random."""
    return TPE.wide(startup=0)


def as_of_bracket(history: History, plan: list[Bracket], learn: LearnFrom) -> History:
    """The history for the model of the next arm: it learns from the brackets before the arm's own."""
    return history if learn == "all" else history.before(first_of_bracket(plan, len(history.arms)))


@dataclass(frozen=True)
class BOHB:
    """Algorithm 3: Hyperband whose configurations a model of the brackets before proposes (default: TPE).

    With ``learn_from="all"`` the model is of everything that is known when a configuration is needed, including the
    same bracket. After ``iterations`` brackets the study is complete.
    """

    eta: float = 3
    min_resource: int = 1
    sampler: Sampler = field(default_factory=bracket_model)
    replicate: Replication = "resume"
    overlap: bool = True
    learn_from: LearnFrom = field(default="earlier", metadata={"before": "all"})
    iterations: int | None = None
    judges: ClassVar[Judges] = "ranked"
    reference: ClassVar[str] = (
        "Falkner, Klein and Hutter, BOHB: robust and efficient hyperparameter optimization, ICML 2018"
    )

    def __post_init__(self) -> None:
        check_options(self)

    @classmethod
    def paper(cls, **changes: Any) -> BOHB:
        """The published sampler, as far as our Parzen estimator has it.

        64 samples from l with its kernels 3 times as wide, scored by l and g unwidened, a third of all
        configurations random, 15 % of the compared ones good, at the furthest step that |D| + 2 configurations reached.
        """
        sampler = TPE(0, 64, good=0.15, bandwidth=1.0, bandwidth_factor=3.0, random_fraction=1 / 3, fit_at="furthest")
        return cls(**{"sampler": sampler, **changes})

    @cached_property
    def _scheduler(self) -> Hyperband:
        return Hyperband(self.eta, self.min_resource, None, self.replicate, self.overlap, self.iterations)

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        plan = hyperband_brackets(top_resource(history, "bohb", self.min_resource), self.min_resource, self.eta)
        known = as_of_bracket(history, plan, self.learn_from)
        return with_sampler(self.sampler, known, rng, lambda may: self._scheduler.next(history, may))


@dataclass(frozen=True)
class BOSS:
    """Algorithm 5: the brackets of BOHB; ``rule`` says who goes on: "ss", "mss" or "sh" (then it is BOHB).

    The default is the paper's own rule, sub-sampling. In our measurements "mss" and BOHB did better
    (benchmarks/RESULTS.md): with brackets of up to 81 steps, "ss" never gets to compare two arms.

    ``replicate`` and ``compare`` are the options of the schedulers; with None the rule's own default is taken.
    ``learn_from`` and ``iterations`` are the options of :class:`BOHB`.
    """

    rule: Literal["sh", "ss", "mss"] = "ss"
    eta: float = 3
    min_resource: int = 1
    beta: float = 0.1
    weights: Weighting = "equal"
    replicate: Replication | None = None
    compare: Comparison = "evaluations"
    sampler: Sampler = field(default_factory=bracket_model)
    overlap: bool = True
    learn_from: LearnFrom = field(default="earlier", metadata={"before": "all"})
    iterations: int | None = None
    reference: ClassVar[str] = SubSampling.reference

    def __post_init__(self) -> None:
        check_options(self)
        if self.rule != "sh":
            _ = self._rule  # warns of options that make no sense together

    @cached_property
    def _rule(self) -> Rule:
        replicate, first = self.replicate or "fresh", self.min_resource
        if self.rule == "ss":
            return SubSampling(self.eta, first, None, self.weights, replicate, self.compare, self.overlap)
        return ModifiedSubSampling(
            self.eta, first, None, self.beta, self.weights, replicate, self.compare, self.overlap
        )

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        if self.rule == "sh":
            return self._bohb.decide(history, rng)
        plan = hyperband_brackets(top_resource(history, "boss", self.min_resource), self.min_resource, self.eta)
        known = as_of_bracket(history, plan, self.learn_from)
        return with_sampler(
            self.sampler, known, rng, lambda may: next_in_brackets(history, plan, self._rule, may, self.iterations)
        )

    @cached_property
    def _bohb(self) -> BOHB:
        replicate = self.replicate or "resume"
        return BOHB(
            self.eta, self.min_resource, self.sampler, replicate, self.overlap, self.learn_from, self.iterations
        )
