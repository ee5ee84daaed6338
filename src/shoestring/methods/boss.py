"""BOHB and BOSS: brackets whose configurations a model proposes.

Falkner, Klein and Hutter, BOHB: robust and efficient hyperparameter optimization, ICML 2018; Huang, Li, Ye, Li and
Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization, arXiv:2007.05670,
Algorithms 3 and 5.

Both have Hyperband's brackets and a Parzen model (TPE) fitted at the highest resource with enough readings; running
configurations count among the bad ones (the constant liar), failed ones too. They differ in the rule that says who
goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from shoestring.core.composition import Composed, compose, with_sampler
from shoestring.core.decisions import Decision, Sampler
from shoestring.core.history import History
from shoestring.samplers.tpe import TPE
from shoestring.schedulers.brackets import Rule, hyperband_brackets, next_in_brackets
from shoestring.schedulers.evaluations import Comparison, Weighting
from shoestring.schedulers.halving import Hyperband
from shoestring.schedulers.modified_sub_sampling import ModifiedSubSampling
from shoestring.schedulers.rungs import Replication, check_options, top_resource
from shoestring.schedulers.sub_sampling import SubSampling


@dataclass(frozen=True)
class BOHB:
    """Algorithm 3: Hyperband whose configurations a model proposes (default: TPE)."""

    eta: float = 3
    min_resource: int = 1
    sampler: Sampler = field(default_factory=TPE)
    replicate: Replication = "resume"
    overlap: bool = True
    reference: ClassVar[str] = (
        "Falkner, Klein and Hutter, BOHB: robust and efficient hyperparameter optimization, ICML 2018"
    )

    def __post_init__(self) -> None:
        check_options(self)

    @cached_property
    def _composed(self) -> Composed:
        return compose(self.sampler, Hyperband(self.eta, self.min_resource, None, self.replicate, self.overlap))

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        return self._composed.decide(history, rng)


@dataclass(frozen=True)
class BOSS:
    """Algorithm 5: the brackets of BOHB; ``rule`` says who goes on: "ss", "mss" or "sh" (then it is BOHB).

    The default is the paper's own rule, sub-sampling. In our measurements "mss" and BOHB did better
    (benchmarks/RESULTS.md): with brackets of up to 81 steps, "ss" never gets to compare two arms.

    ``replicate`` and ``compare`` are those of the schedulers; with None the rule's own default is taken.
    """

    rule: Literal["sh", "ss", "mss"] = "ss"
    eta: float = 3
    min_resource: int = 1
    beta: float = 0.1
    weights: Weighting = "equal"
    replicate: Replication | None = None
    compare: Comparison = "evaluations"
    sampler: Sampler = field(default_factory=TPE)
    overlap: bool = True
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
            same = BOHB(self.eta, self.min_resource, self.sampler, self.replicate or "resume", self.overlap)
            return same.decide(history, rng)
        plan = hyperband_brackets(top_resource(history, "boss", self.min_resource), self.min_resource, self.eta)
        return with_sampler(self.sampler, history, rng, lambda may: next_in_brackets(history, plan, self._rule, may))
