"""The protocols of the 2021 QQ Browser contest in hyper-parameter tuning, and their score, on any problem.

Preliminary: 20 rounds, each with 5 suggestions that are evaluated together. Final: 140 iterations of 5 slots. In each,
every occupied slot advances by one of 14 steps and reveals a value with a 95 % interval; a slot that was stopped or
has completed its 14 steps takes the next suggestion. Only configurations that completed all their steps count.

**The partial rewards of the final are simulated.** The contest's own were never published. Its winners report
(arXiv:2111.00513) that intervals contain the last value in 95 % of the cases, that readings lie above and below it
equally often and without a trend, that intervals shrink, and that early readings rank more than 95 % of the pairs of
configurations correctly. So here the reading at step k is the mean of k draws, and the mean of all K is the true value:

======  ====================================================================================
K       the steps of a configuration, 14
ε_i     independent standard normal numbers of a trial, i = 1 … K
e_k     τ (mean(ε_1 … ε_k) − mean(ε_1 … ε_K)), of variance τ² (1/k − 1/K); 0 at the last step
τ       ``noise`` times the spread of the values over the space
======  ====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from statistics import fmean, median, pstdev
from typing import Any

from shoestring.core.budget import Budget
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.core.readings import Reading
from shoestring.errors import SpaceError
from shoestring.problems.base import NORMAL, check_step, standard_normal, yield_readings
from shoestring.spaces.codec import Codec

# A 95 % interval reaches this many standard deviations to either side.
_WIDTH = NORMAL.inv_cdf(0.975)
# Order agrees in 1 − arctan(sd/spread)/π of the pairs: 95 % if the first readings' sd is .158 of the spread.
_FINAL_NOISE = 0.164


@dataclass(frozen=True)
class Contest:
    """A problem under a contest's rules; create one with :meth:`preliminary` or :meth:`final`.

    The problem has a ``space``, a ``mode``, a ``best`` value, ``reading(config, 1, seed)`` and, if its readings
    are noisy, ``value(config)``. A study on a contest has its ``space``, ``mode``, ``max_resource`` and
    ``budget``; :meth:`play` runs it by the rules, and :meth:`result` is the value that the contest would count.

    >>> import shoestring as ss
    >>> from shoestring.problems import Contest, Synthetic
    >>> contest = Contest.preliminary(Synthetic("branin"))
    >>> study = ss.Study(contest.space, budget=contest.budget, mode=contest.mode, method="random")
    >>> contest.play(study)
    >>> len(study.trials), contest.result(study.history) >= contest.best
    (100, True)
    """

    space = property(attrgetter("problem.space"))
    mode = property(attrgetter("problem.mode"))
    best = property(attrgetter("problem.best"))
    max_resource = property(attrgetter("steps"))
    __call__ = yield_readings

    problem: Any
    rounds: int = 20
    slots: int = 5
    steps: int = 1
    noise: float = 0.0

    def __post_init__(self) -> None:
        for option in ("rounds", "slots", "steps"):
            value = getattr(self, option)
            if not isinstance(value, int) or value < 1:
                raise SpaceError(f"{option} is {value!r}; it must be a whole number from 1")
        if not 0 <= self.noise < math.inf:
            raise SpaceError(f"noise is {self.noise!r}; it must be a share of the values' spread, 0 or more")

    @classmethod
    def preliminary(cls, problem: Any) -> Contest:
        return cls(problem)

    @classmethod
    def final(cls, problem: Any) -> Contest:
        return cls(problem, rounds=140, steps=14, noise=_FINAL_NOISE)

    @property
    def budget(self) -> Budget:
        return Budget(steps=self.rounds * self.slots)

    @cached_property
    def _spread(self) -> float:
        """The standard deviation of the values over the space, from a thousand draws."""
        codec, rng = Codec(self.space), generator(0, 0, "contest spread")
        return pstdev(self._value(codec.sample(rng)) for _ in range(1000))

    def _value(self, config: Mapping[str, Any]) -> float:
        value = getattr(self.problem, "value", None)
        return float(value(config) if value else self.problem.reading(config, 1, 0))

    def reading(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> Reading:
        """The reading of a step, with its 95 % interval where there are several steps."""
        check_step(step, self.steps)
        value = float(self.problem.reading(config, 1, seed))
        if self.steps == 1:
            return Reading(value)
        tau = self.noise * self._spread
        draws = [standard_normal(seed, i, "contest") for i in range(self.steps)]
        value += tau * (fmean(draws[:step]) - fmean(draws))
        half = _WIDTH * tau * math.sqrt(1 / step - 1 / self.steps)
        return Reading(value, low=value - half, high=value + half)

    def seconds(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        return 1.0

    def play(self, study: Any) -> None:
        """Run a study by the rules: all slots are filled, then all advance by one step, round after round."""
        slots: list[Any] = []
        while True:
            while len(slots) < self.slots and (grant := study.ask()) is not None:
                slots.append(grant)
            if not slots:
                return
            trials = study.history.trials
            for grant in slots:
                step = trials[grant.trial].step + 1
                study.tell(grant, {step: self.reading(grant.config, step, grant.seed)})
            slots = [grant for grant in slots if trials[grant.trial].state == "running"]

    def result(self, history: History) -> float:
        """The value of the best configuration that completed all its steps; infinitely bad if none did.

        The best is chosen by the readings, as a user would; its value without noise counts.
        """
        complete = [trial for trial in history.trials if self.steps in trial.losses]
        if not complete:
            return history.sign * math.inf
        return self._value(min(complete, key=lambda trial: trial.losses[self.steps]).config)


def contest_score(results: Sequence[float], best: float, reference: float) -> float:
    """The score of one function from the results of several repeats: (m − r) / (best − r), clipped to [0, 1].

    m is the mean without the highest and the lowest result, if there are three or more. r, the ``reference``, is the
    median result of random search after 100 evaluations. The same in both modes.

    >>> from shoestring.problems import contest_score
    >>> contest_score([1.0, 8.0, 9.0, 10.0], best=10.0, reference=5.0)
    0.7
    """
    if not results:
        raise ValueError("no results were given; a score needs one per repeat")
    if best == reference:
        raise ValueError(
            f"the reference {reference} is the best value: random search solves this, and nothing can score"
        )
    kept = sorted(results)[1:-1] if len(results) >= 3 else results
    share = (fmean(kept) - reference) / (best - reference)
    return min(max(share, 0.0), 1.0)


def random_reference(problem: Any, evaluations: int = 100, repeats: int = 200, seed: int = 0) -> float:
    """Compute the median result of random search after this many evaluations, over repeats."""
    contest, codec = Contest(problem), Codec(problem.space)
    sign, found = (-1.0 if contest.mode == "max" else 1.0), []
    for repeat in range(repeats):
        rng = generator(seed, repeat, "random reference")
        configs = [codec.sample(rng) for _ in range(evaluations)]
        losses = [sign * contest.reading(c, 1, int(rng.integers(2**31))).value for c in configs]
        found.append(contest._value(configs[min(range(evaluations), key=losses.__getitem__)]))  # noqa: SLF001  same module
    return median(found)
