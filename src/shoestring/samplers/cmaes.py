"""CMA-ES: a normal distribution that moves to where good arms were, and learns the shape of the valley.

Hansen, The CMA evolution strategy: a tutorial, 2016, on the cmaes package; initialised from arms it did not propose as
in Nomura et al., Warm starting CMA-ES for hyperparameter optimization, AAAI 2021.

====== ===========  ==================================================================
d, D   ()           axes, and columns that the strategy moves in (``models/embedding.py``)
λ      ()           arms of a generation
m, σ, C             mean (D,), step size and covariance (D, D) of the distribution
====== ===========  ==================================================================

An ordered axis is one column; a choice has one for each of its values, and the largest wins. A
generation ends when λ of its own arms are known, in whatever order they come. The strategy is rebuilt from the log
each time: it owns no state and no randomness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Proposal, read_state
from shoestring.core.history import Cursor, History
from shoestring.core.options import check_choices, check_whole
from shoestring.core.untried import random_config
from shoestring.models.embedding import Embedding
from shoestring.samplers.simple import first_design
from shoestring.samplers.training import FitAt, training_set

# The best share of the arms that the first distribution is laid around, and how many at the least.
_SHARE, _LEAST = 0.15, 4
# The spread that is added to the spread of the best arms.
_PRIOR = 0.1
_MANY_COLUMNS = 100


@dataclass(frozen=True)
class CMAES:
    """Configurations drawn from the distribution of the strategy, ``population`` a generation.

    The first ``startup`` ones are a Latin hypercube; the distribution is initialised around the best of those and of
    all others that are known before its own first. ``population`` is 4 + ⌊3 log D⌋ unless given.
    """

    startup: int = 10
    population: int | None = None
    fit_at: FitAt = field(default="predictive", metadata={"before": "furthest"})
    reference: ClassVar[str] = "Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772"

    def __post_init__(self) -> None:
        check_choices(self)
        check_whole(self, startup=2, population=4)

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        if len(history.arms) < self.startup:
            return first_design(history, rng, self.startup)
        known = training_set(history, max(self.startup, 2), self.fit_at)
        if known is None:
            return Proposal(random_config(history, rng), "random, too few configurations can be compared")
        embed = columns_of(history.codec.choices)
        own = np.isin(known.arms, history.cached("arms of generations", _Proposed).update(history))
        first = np.ones_like(own) if own.all() else ~own
        initial = promising(embed(known.points[first]), known.losses[first])
        strategy = self._update(initial, embed(known.points[own]), known.losses[own])
        point = embed.points(_draw(strategy, rng)[None])[0]
        reason = f"from the distribution of generation {strategy.generation + 1}"
        state = _Generation(strategy.generation)
        return Proposal(history.codec.decode(point), reason, {"step": known.step}, state)

    def _update(self, initial: tuple[Array, float, Array], moved: Array, losses: Array) -> Any:
        """The strategy after an update by each complete generation of its own arms."""
        from cmaes import CMA

        mean, sigma, covariance = initial
        size = self.population or 4 + int(3 * math.log(len(mean)))
        strategy = CMA(mean, sigma, cov=covariance, population_size=size, seed=0)
        for begin in range(0, len(moved) - size + 1, size):
            strategy.tell([(moved[i], float(losses[i])) for i in range(begin, begin + size)])
        return strategy


@dataclass(frozen=True)
class _Generation:
    """The generation that the strategy drew a configuration in, counted from 0."""

    number: int


class _Proposed:
    """The arms that the strategy proposed, rather than the initial design."""

    def __init__(self) -> None:
        self._arms: list[int] = []
        self._grants = Cursor()

    def update(self, history: History) -> list[int]:
        for grant in self._grants.new(history.grants):
            if read_state(_Generation, grant.sampler_state) is not None:
                self._arms.append(grant.arm)
        return self._arms


def _draw(strategy: Any, rng: np.random.Generator) -> Array:
    """A point of the strategy's distribution, drawn again while it lies outside of the cube."""
    strategy.reseed_rng(int(rng.integers(2**31)))
    for _ in range(20):
        x = strategy.ask()
        if ((x >= 0) & (x <= 1)).all():
            break
    return np.asarray(np.clip(x, 0.0, 1.0))


def columns_of(choices: Codes) -> Embedding:
    """Encode the columns that a normal distribution moves in: an inactive value has no column of its own."""
    return Embedding(choices, np.zeros(len(choices), dtype=bool))


def promising(moved: Array, losses: Array) -> tuple[Array, float, Array]:
    """m, σ and C of a normal distribution around the best arms, whichever sampler proposed them."""
    from cmaes import get_warm_start_mgd

    share = min(1.0, max(_SHARE, _LEAST / len(moved)) + 1e-9)
    # With many columns the determinant of the covariance, which σ is taken from, would be too small for a float.
    scale = 1.0 if moved.shape[1] <= _MANY_COLUMNS else 1 / _PRIOR
    mean, sigma, covariance = get_warm_start_mgd(
        [(scale * row, float(loss)) for row, loss in zip(moved, losses, strict=True)], gamma=share, alpha=scale * _PRIOR
    )
    return mean / scale, sigma / scale, covariance


def draw_around_best(choices: Codes, points: Array, losses: Array, rng: np.random.Generator, m: int) -> Array:
    """m points of the normal distribution around the best arms. Shape (m, d)."""
    embed = columns_of(choices)
    mean, sigma, covariance = promising(embed(points), losses)
    root = np.linalg.cholesky(covariance + 1e-10 * np.eye(len(mean)))
    drawn = mean + sigma * rng.standard_normal((m, len(mean))) @ root.T
    return embed.points(np.clip(drawn, 0.0, 1.0))
