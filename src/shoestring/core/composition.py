"""A sampler and a scheduler as one method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision, Done, Sampler, Scheduler, Start
from shoestring.core.history import History
from shoestring.core.recommendation import Advice, HasAdvice
from shoestring.core.untried import propose_new
from shoestring.core.weighing import Judges, view_for
from shoestring.errors import MethodError


@dataclass(frozen=True)
class Composed:
    """A sampler and a scheduler as one method."""

    sampler: Sampler
    scheduler: Scheduler
    judges: ClassVar[Judges] = "by part"

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        planned = view_for(history, self.scheduler)
        known = view_for(history, self.sampler)
        return with_sampler(self.sampler, known, rng, lambda may_start: self.scheduler.next(planned, may_start))

    def recommend(self, history: History) -> Advice | None:
        return self.sampler.recommend(history) if isinstance(self.sampler, HasAdvice) else None


def with_sampler(
    sampler: Sampler, history: History, rng: np.random.Generator, schedule: Callable[[bool], Decision]
) -> Decision:
    """The decision of a schedule, with the configuration of a new trial from a sampler.

    ``schedule`` is called with False if the sampler has no configuration left.
    """
    decision = schedule(True)
    if not isinstance(decision, Start) or decision.config is not None:
        return decision
    proposal = propose_new(sampler, history, rng)
    if proposal is None:
        decision = schedule(False)
        return Done("every configuration has been tried") if isinstance(decision, Start) else decision
    reason = f"{decision.reason}; {proposal.reason}"
    explanation = {**proposal.explanation, **decision.explanation}
    return Start(decision.until, reason, proposal.config, explanation, decision.state, proposal.state)


def compose(sampler: Sampler, scheduler: Scheduler) -> Composed:
    """A method that tries what the ``sampler`` says for as long as the ``scheduler`` says.

    >>> from shoestring import compose
    >>> from shoestring.samplers import TPE
    >>> from shoestring.schedulers import ASHA
    >>> compose(TPE(), ASHA(eta=3)).scheduler.eta
    3
    """
    for role, part, verb in (("sampler", sampler, "propose"), ("scheduler", scheduler, "next")):
        if isinstance(part, type) or not callable(getattr(part, verb, None)):
            raise MethodError(
                f"the {role} is {part!r}; it must be an object with a method {verb!r}: compose(sampler, scheduler)"
            )
    return Composed(sampler, scheduler)
