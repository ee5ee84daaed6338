"""The CPU seconds of a batch of suggestions, with this many observations."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import shoestring as ss
from shoestring.core.decisions import Proposal, Sampler
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.problems import Synthetic
from shoestring.schedulers import Full

PROBLEM = Synthetic("hartmann6")


@dataclass(frozen=True)
class Filled:
    """This many points, half of them near the best as an optimiser's are; from then on the sampler's."""

    sampler: Sampler
    observations: int

    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        if len(history.arms) >= self.observations:
            return self.sampler.propose(history, rng)
        codec = history.codec
        point = codec.sample_point(rng)
        if len(history.arms) % 2:
            point = (codec.encode(PROBLEM.best_config) + 0.1 * rng.standard_normal(len(point))).clip(0, 1)
        return Proposal(codec.decode(point), "filling")


def _study(sampler: Sampler, observations: int, room: int) -> ss.Study:
    budget = ss.Budget(evaluations=observations + room)
    study = ss.Study(PROBLEM.space, budget=budget, method=ss.compose(Filled(sampler, observations), Full()))
    for _ in range(observations):
        grant = study.ask()
        study.tell(grant, PROBLEM.value(grant.config) + 0.01 * generator(0, grant.trial, "cost").standard_normal())
    return study


def batches(sampler: Sampler, observations: int, batch: int, count: int) -> list[float]:
    """CPU seconds of each batch, the first and its imports left out; results are reported in between."""
    study, found = _study(sampler, observations, batch * (count + 1)), []
    for _ in range(count + 1):
        before = time.process_time()
        grants = [study.ask() for _ in range(batch)]
        found.append(time.process_time() - before)
        for grant in grants:
            study.tell(grant, PROBLEM.value(grant.config))
    return found[1:]
