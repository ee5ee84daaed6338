"""The value of training an arm further with the remaining budget: Q, and a multi-step look ahead.

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, section 3.

======  ======================================================================  ============
symbol  meaning                                                                 shape
======  ======================================================================  ============
K, T    arms; times on their common grid
r       remaining steps of the budget
n_k     times that arm k has reached, 0 to T                                    (K,)
M       expected reading of every arm at every time                             (K, T)
ν_r^k   best loss of arm k in r more steps; taken as Gaussian
μ_r^k   its mean: the lowest expected reading within r steps                    (K,)
τ_k     the time of that reading                                                (K,)
ĉ       the arm with the lowest μ_r^k
ζ       the incumbent: the lowest loss so far
======  ======================================================================  ============

Q (Eq. 8) assumes that training an arm reveals its value completely. The look ahead asks instead how much m more
readings reveal, and charges them to the budget: afterwards the outcome is the best of the arm's updated value, of
the losses that the others can still reach with r − m, and of ζ. Its expectation has a closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.models.acquisition import expected_improvement
from shoestring.models.freeze_thaw import Mixture

# The numbers of readings that the look ahead considers.
AHEAD = (1, 2, 3, 5, 8, 13, 21, 34)
# Arms are evaluated in chunks of this size, until no later arm can have a larger gain.
_CHUNK = 256


def expected_minimum(mean: Array, deviation: Array, other: Array | float) -> Array:
    """E min(X, other) of a Gaussian X (Eq. 10): ``other`` minus the expected improvement of X on it.

    >>> import numpy as np
    >>> expected_minimum(np.array([0.0]), np.array([1.0]), 0.0).round(4)
    array([-0.3989])
    """
    spread = np.where(deviation > 0, deviation, 1.0)
    finite = np.minimum(other, mean + 40.0 * spread)  # infinite without another one
    unsure = finite - expected_improvement(mean, spread, finite)[0]
    return np.where(deviation > 0, unsure, np.minimum(mean, other))


@dataclass(frozen=True)
class Outlook:
    """The predicted loss of every arm with the remaining budget.

    ``loss`` is μ_r^k, infinite for an arm that cannot be trained; ``place`` is τ_k as a place on the
    grid; ``best`` holds the lowest expected reading up to each time (T, K); ``reached`` is n_k.
    """

    belief: Mixture
    steps: Codes
    reached: Codes
    remaining: float
    loss: Array
    place: Codes
    best: Array

    @classmethod
    def of(cls, belief: Mixture, means: Array, steps: Codes, remaining: float, trainable: Mask) -> Outlook:
        """The outlook given M, the ``steps`` of the grid's times, and which arms are ``trainable``.

        If no arm can afford its next time, every arm is treated as if it could, so that the last steps are spent.
        """
        reached = belief.counts
        last = _last_places(steps, remaining)[reached]
        trainable = trainable & (reached < len(steps))
        if not (trainable & (last > reached)).any():
            last = np.minimum(reached + 1, len(steps))
        best = means.T.copy()
        best[np.arange(1, len(steps) + 1)[:, None] <= reached] = np.inf
        for time in range(1, len(steps)):  # row by row is faster than accumulate
            np.minimum(best[time], best[time - 1], out=best[time])
        loss = best[np.maximum(last, 1) - 1, np.arange(len(last))]
        place = (best > loss).sum(axis=0) + 1
        return cls(belief, steps, reached, remaining, np.where(trainable, loss, np.inf), place, best)

    def deviation(self) -> Array:
        """Standard deviation of ν_r^k, shape (K,); 0 for an arm that cannot be trained."""
        arms = np.arange(len(self.loss))
        variance = self.belief.variances(arms, np.maximum(self.place, 1))
        return np.sqrt(np.where(np.isfinite(self.loss), variance, 0.0))

    def losses_with(self, remaining: Array | float) -> Array:
        """μ^k of every arm with another remaining budget: (K,), or a row for each of several."""
        place = _last_places(self.steps, remaining)[..., self.reached]
        found: Array = self.best[np.maximum(place, 1) - 1, np.arange(len(self.loss))]
        return np.where((place > self.reached) & np.isfinite(self.loss), found, np.inf)

    def needs_whole_budget(self) -> bool:
        """Return whether ĉ needs all remaining steps to reach its lowest reading (Algorithm 1, line 3)."""
        top = int(self.loss.argmin())
        steps = np.concatenate([[0], self.steps])
        return bool(steps[self.place[top]] - steps[self.reached[top]] >= self.remaining)


def _last_places(steps: Codes, remaining: Array | float) -> Codes:
    """The last place that an arm at each place 0 to T can afford: (T+1,), or a row for each of several budgets."""
    reached = np.concatenate([[0], steps])
    return np.asarray(np.searchsorted(steps, np.add.outer(remaining, reached), side="right"), dtype=np.int64)


def best_of_others(losses: Array) -> Array:
    """For every arm the lowest of the others' losses; arms are the last axis."""
    first = losses.argmin(axis=-1, keepdims=True)
    others = losses.copy()
    np.put_along_axis(others, first, np.inf, axis=-1)
    found = np.repeat(np.take_along_axis(losses, first, axis=-1), losses.shape[-1], axis=-1)
    np.put_along_axis(found, first, others.min(axis=-1, keepdims=True), axis=-1)
    return found


def q_values(outlook: Outlook, incumbent: float = math.inf) -> Array:
    """Q_r of every arm (Eq. 8): E min(ν_r^a, the best μ_r of the others, ζ). Infinite where not trainable."""
    rest = np.minimum(best_of_others(outlook.loss), incumbent)
    trainable = np.isfinite(outlook.loss)
    value = np.full(len(outlook.loss), np.inf)
    value[trainable] = expected_minimum(outlook.loss[trainable], outlook.deviation()[trainable], rest[trainable])
    return value


def lookahead_gains(outlook: Outlook, incumbent: float = math.inf) -> Array:
    """The largest fall of the expected final loss per step of a look ahead, over the numbers of readings. (K,).

    Minus infinity for arms that cannot have the largest. Knowing an arm's value completely after the shortest look is
    an upper bound, so arms are evaluated in the order of Q, until the next one's bound is below the largest gain.
    """
    q = q_values(outlook, incumbent)
    order = np.argsort(q, kind="stable")[: np.isfinite(q).sum()]
    gain = np.full(len(q), -np.inf)
    prices, paid_at = _prices(tuple(outlook.steps.tolist()))
    paid_at = np.where((paid_at >= 0) & (prices[paid_at] < outlook.remaining), paid_at, -1)
    # For each price and arm, the best of the others with the budget that it leaves, or ζ. Shape (prices, K).
    others = best_of_others(outlook.losses_with(outlook.remaining - prices.astype(float)))
    rest = np.minimum(others, incumbent)
    now = min(float(outlook.loss.min()), incumbent)
    for first in range(0, len(order), _CHUNK):
        arms = order[first : first + _CHUNK]
        if (now - q[arms[0]]) / prices[0] < gain.max():
            break
        paid = paid_at[outlook.reached[arms]]
        fall = now - _losses_after(outlook, arms, rest[paid, arms[:, None]])
        gain[arms] = np.where(paid >= 0, fall / prices[paid], -np.inf).max(axis=1)
    return gain


@lru_cache(maxsize=16)
def _prices(steps: tuple[int, ...]) -> tuple[Codes, Codes]:
    """The possible prices of a look ahead in steps, from low to high, and which of them applies.

    The second, (T+1, numbers of readings), is the index of the price from each place; −1 beyond T.
    """
    reached = np.array([0, *steps])
    after = np.arange(len(reached))[:, None] + np.array(AHEAD)
    possible = after < len(reached)
    costs = reached[np.minimum(after, len(reached) - 1)] - reached[:, None]
    prices, paid = np.unique(costs[possible], return_inverse=True)
    paid_at = np.full(after.shape, -1)
    paid_at[possible] = paid
    return prices, paid_at


def _losses_after(outlook: Outlook, arms: Codes, rest: Array) -> Array:
    """The expected final loss after looking ahead at some arms, by numbers of readings: the shape of ``rest``."""
    arms = arms[:, None]
    place = outlook.place[arms]
    explained = outlook.belief.variances(arms, place) - outlook.belief.variances(arms, place, np.array(AHEAD))
    return expected_minimum(outlook.loss[arms], np.sqrt(np.maximum(explained, 0.0)), rest)
