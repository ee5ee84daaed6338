"""The bandit of section 8.1, played by the library's own rules without the machinery of a study.

K arms answer with N(k/K, σ); an evaluation of budget b is the mean of b samples. Which arm has which
mean is drawn for each run: were the best the first, ties broken by position would find it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from shoestring.core.composition import compose
from shoestring.core.decisions import Scheduler
from shoestring.core.randomness import generator, integer
from shoestring.executors import Trial
from shoestring.samplers import Random
from shoestring.schedulers.brackets import Bracket, Rule
from shoestring.schedulers.evaluations import Record


@dataclass(frozen=True)
class Bandit:
    """K arms; the noise of an evaluation follows from its number in the run, as that of a trial does."""

    arms: int
    sigma: float
    seed: int

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """μ of each arm."""
        return generator(self.seed, 0, "arms").permutation(self.arms) / self.arms

    @property
    def best(self) -> int:
        return int(self.means.argmin())

    def evaluation(self, arm: int, budget: int, seed: int) -> float:
        """The mean of ``budget`` samples, drawn at once."""
        noise = generator(seed, budget, "evaluation").standard_normal()
        return float(self.means[arm] + self.sigma / math.sqrt(budget) * noise)

    def samples(self, arm: int, budget: int, seed: int) -> NDArray[np.float64]:
        """The samples themselves; those of a smaller budget are the first of them."""
        return np.asarray(self.means[arm] + self.sigma * generator(seed, 0, "samples").standard_normal(budget))


@dataclass
class Play:
    """The evaluations in order, with their results."""

    bandit: Bandit
    records: list[Record] = field(default_factory=list)
    rounds: list[list[int]] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    budgets: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def evaluate(self, arm: int, budget: int) -> None:
        seed = integer(self.bandit.seed, len(self.values), "trial")
        record = self.records[arm]
        if record.compare == "samples":
            samples = self.bandit.samples(arm, budget, seed)
            record.take(float(samples.mean()), budget, samples)
        else:
            record.take(self.bandit.evaluation(arm, budget, seed), budget)
        self.arms.append(arm)
        self.budgets.append(budget)
        self.values.append(record.values[-1])

    @property
    def total(self) -> int:
        """The budget of all evaluations."""
        return sum(self.budgets)

    def average_regret(self, by_budget: bool = False) -> NDArray[np.float64]:
        """(1/N)·Σ(y_i − min μ) after each evaluation; i counts evaluations, or the samples that they rest on."""
        gaps = np.array(self.values) - self.bandit.means.min()
        weights = np.array(self.budgets if by_budget else [1] * len(gaps), dtype=float)
        return np.asarray(np.cumsum(weights * gaps) / np.cumsum(weights))

    def lowest_mean(self) -> int:
        """The arm with the lowest mean over all that is known of it."""
        return min(range(len(self.records)), key=lambda arm: self.records[arm].mean)

    def last_winner(self) -> int:
        """The best of the last round, by its evaluation there."""
        return min(self.rounds[-1], key=lambda arm: self.records[arm].values[-1])


def play_rounds(bandit: Bandit, rule: Rule, first: int, last: int) -> Play:
    """One bracket of all arms, from the budget ``first`` to ``last``."""
    bracket = Bracket(bandit.arms, first, last)
    play = Play(bandit, [rule.record() for _ in range(bandit.arms)])
    standing = list(range(bandit.arms))
    while standing and (budget := rule.budget(bracket, len(play.rounds))) is not None:
        for arm in standing:
            play.evaluate(arm, budget)
        play.rounds.append(standing)
        if rule.budget(bracket, len(play.rounds)) is not None:
            standing = rule.select(bracket, len(play.rounds), play.records, standing)
    return play


def play_study(bandit: Bandit, scheduler: Scheduler, last: int) -> Play:
    """A study by ask and tell, for the schedulers without rounds; over when they ask for one arm too many."""
    method = compose(Random(), scheduler)
    budget = ss.Budget(steps=10**9)
    study = ss.Study({"x": (0.0, 1.0)}, budget=budget, method=method, max_resource=last, seed=bandit.seed)
    play = Play(bandit, [Record() for _ in range(bandit.arms)])
    while (grant := study.ask()) is not None and (arm := study.trials[grant.trial].arm) < bandit.arms:
        play.evaluate(arm, grant.until)
        study.tell(grant, play.values[-1])
    return play


@dataclass(frozen=True)
class BanditProblem:
    """The same bandit as a problem for a study: a step is a sample, a reading the mean so far or the sample."""

    bandit: Bandit
    single_samples: bool = False

    @property
    def space(self) -> dict[str, Any]:
        return {"arm": (0, self.bandit.arms - 1)}

    def reading(self, config: dict[str, Any], step: int, seed: int) -> float:
        arm = config["arm"]
        if self.single_samples:
            return float(self.bandit.samples(arm, step, seed)[-1])
        return self.bandit.evaluation(arm, step, seed)

    def __call__(self, trial: Trial) -> Iterator[float]:
        for step in count(trial.start + 1):
            yield self.reading(trial.config, step, trial.seed)
