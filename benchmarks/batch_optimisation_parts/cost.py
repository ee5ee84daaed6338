"""The CPU time of a suggestion."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from common import Options
from measurements import Row, row

import shoestring as ss
from shoestring.core.decisions import Proposal, Sampler
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.problems import Synthetic
from shoestring.samplers import BOES, CMAES, GaussianProcess
from shoestring.schedulers import Full

PROBLEM = Synthetic("hartmann6")


@dataclass(frozen=True)
class Filled:
    """So many points, half of them near the best as an optimiser's are; from then on the sampler's."""

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


def cost(options: Options) -> list[Row]:
    """CPU seconds a decision, refits included; a suggestion is asked for when the one before was answered."""
    count = 4 if options.quick else 12
    boes, gp = BOES(), GaussianProcess()
    return [
        row("gp, a batch of 5 at 100 observations", batches(gp, 100, 5, count), at_most=0.15),
        row("gp, a batch of 5 at 1,000 observations", batches(gp, 1000, 5, count), at_most=0.3),
        row("gp, a suggestion at 300 observations", batches(gp, 300, 1, 5 * count), at_most=0.100),
        row("gp, a suggestion at 1,000 observations", batches(gp, 1000, 1, 5 * count)),
        row("boes, a batch of 5 at 100 observations", batches(boes, 100, 5, count), at_most=0.15),
        row("boes, a batch of 5 at 1,000 observations", batches(boes, 1000, 5, count), at_most=1.0),
        row("boes, a suggestion at 1,000 observations", batches(boes, 1000, 1, 5 * count)),
        row("thesis, a batch of 5 at 100 observations", batches(BOES.thesis(), 100, 5, count)),
        row("cmaes, a suggestion at 300 observations", batches(CMAES(), 300, 1, 5 * count), at_most=0.010),
    ]
