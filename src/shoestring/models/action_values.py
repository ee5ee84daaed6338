"""What it is worth to train an arm on when so much of the budget is left: Q, and a look ahead.

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, section 3.

======  ======================================================================  ============
symbol  meaning                                                                 shape
======  ======================================================================  ============
K, T    arms; times on their common grid
r       steps of budget that are left
n_k     times that arm k has reached, 0 to T                                    (K,)
M       expected reading of every arm at every time                             (K, T)
ν_r^k   best loss of arm k in r more steps; taken as Gaussian
μ_r^k   its mean: the lowest expected reading that r can buy                    (K,)
τ_k     the time of that reading                                                (K,)
ĉ       the arm with the lowest μ_r^k
ζ       the best loss already in hand
======  ======================================================================  ============

Q (Eq. 8) supposes that what an arm is worth will be known for certain once it is tried. The look ahead
asks instead how much m more readings will tell, and counts what they leave of the budget: after them
one has the best of what the arm then promises, of what the others can still reach with r − m, and of
ζ. Its value has a closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from shoestring.models.freeze_thaw import Mixture

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

# How many readings ahead the look ahead considers.
AHEAD = (1, 2, 3, 5, 8, 13, 21, 34)
# How many arms are looked at before it is asked whether another could be worth more.
_AT_ONCE = 256


def expected_minimum(mean: Array, deviation: Array, other: Array | float) -> Array:
    """E min(X, other) of a Gaussian X (Eq. 10): other − σ·(s·Φ(s) + φ(s)) with s = (other − mean)/σ.

    >>> import numpy as np
    >>> expected_minimum(np.array([0.0]), np.array([1.0]), 0.0).round(4)
    array([-0.3989])
    """
    sure = np.minimum(mean, other)
    spread = np.where(deviation > 0, deviation, 1.0)
    other = np.minimum(other, mean + 40.0 * spread)  # what is never reached may be infinite
    s = (other - mean) / spread
    unsure = other - spread * (s * ndtr(s) + np.exp(-0.5 * s * s) / math.sqrt(2 * math.pi))
    return np.where(deviation > 0, unsure, sure)


@dataclass(frozen=True)
class Outlook:
    """What every arm promises with the budget that is left.

    ``loss`` is μ_r^k, infinite for an arm that cannot be trained on; ``place`` is τ_k as a place on the
    grid; ``best`` holds the lowest expected reading up to each time (T, K); ``reached`` is n_k.
    """

    belief: Mixture
    steps: Codes
    reached: Codes
    left: float
    loss: Array
    place: Codes
    best: Array

    def deviation(self) -> Array:
        """Standard deviation of ν_r^k, shape (K,); 0 for an arm that cannot be trained on."""
        arms = np.arange(len(self.loss))
        variance = self.belief.variances(arms, np.maximum(self.place, 1))
        return np.sqrt(np.where(np.isfinite(self.loss), variance, 0.0))

    def losses_with(self, left: Array | float) -> Array:
        """μ^k of every arm if only so many steps were left: (K,), or a row for each of several ``left``."""
        place = _within(self.steps, left)[..., self.reached]
        found: Array = self.best[np.maximum(place, 1) - 1, np.arange(len(self.loss))]
        return np.where((place > self.reached) & np.isfinite(self.loss), found, np.inf)


def outlook(belief: Mixture, means: Array, steps: Codes, left: float, open_arms: NDArray[np.bool_]) -> Outlook:
    """What each arm promises. ``steps`` are those of the grid's times; only ``open_arms`` are promised anything.

    An arm that cannot be brought to its next time counts as if it could where no other can either, so
    that the last steps are spent.
    """
    reached = belief.counts
    last = _within(steps, left)[reached]
    open_arms = open_arms & (reached < len(steps))
    if not (open_arms & (last > reached)).any():
        last = np.minimum(reached + 1, len(steps))
    best = means.T.copy()
    best[np.arange(1, len(steps) + 1)[:, None] <= reached] = np.inf
    for time in range(1, len(steps)):  # row by row is faster than accumulate
        np.minimum(best[time], best[time - 1], out=best[time])
    loss = best[np.maximum(last, 1) - 1, np.arange(len(last))]
    place = (best > loss).sum(axis=0) + 1
    return Outlook(belief, steps, reached, left, np.where(open_arms, loss, np.inf), place, best)


def _within(steps: Codes, left: Array | float) -> Codes:
    """For an arm at each place, 0 to T: the last place that so many steps reach. A row for each of several ``left``."""
    begun = np.concatenate([[0], steps])
    return np.asarray(np.searchsorted(steps, np.add.outer(left, begun), side="right"), dtype=np.int64)


def other_best(losses: Array) -> Array:
    """For every arm the lowest of the others' losses; arms are the last axis."""
    first = losses.argmin(axis=-1, keepdims=True)
    others = losses.copy()
    np.put_along_axis(others, first, np.inf, axis=-1)
    found = np.repeat(np.take_along_axis(losses, first, axis=-1), losses.shape[-1], axis=-1)
    np.put_along_axis(found, first, others.min(axis=-1, keepdims=True), axis=-1)
    return found


def value_of_trying(view: Outlook, in_hand: float = math.inf) -> Array:
    """Q_r of every arm (Eq. 8): E min(ν_r^a, the best that the others promise). Infinite where closed."""
    rest = np.minimum(other_best(view.loss), in_hand)
    open_arms = np.isfinite(view.loss)
    value = np.full(len(view.loss), np.inf)
    value[open_arms] = expected_minimum(view.loss[open_arms], view.deviation()[open_arms], rest[open_arms])
    return value


def exhausted(view: Outlook) -> bool:
    """Whether the best arm needs all that is left to reach its lowest reading (Algorithm 1, line 3)."""
    top = int(view.loss.argmin())
    begun = np.concatenate([[0], view.steps])
    return bool(begun[view.place[top]] - begun[view.reached[top]] >= view.left)


def gain_of_looking(view: Outlook, in_hand: float = math.inf) -> Array:
    """By how much the expected final loss falls for each step of a look ahead; the most over numbers of readings.

    Minus infinity for arms that cannot have the most. Knowing for certain after the shortest look is worth at least
    as much, so arms are looked at in the order of Q, until the next one's bound is below what was found.
    """
    trying = value_of_trying(view, in_hand)
    order = np.argsort(trying, kind="stable")[: np.isfinite(trying).sum()]
    gain = np.full(len(trying), -np.inf)
    prices, which, rest = _left_to_others(view, in_hand)
    now = min(float(view.loss.min()), in_hand)
    for first in range(0, len(order), _AT_ONCE):
        arms = order[first : first + _AT_ONCE]
        if (now - trying[arms[0]]) / prices[0] < gain.max():
            break
        paid = which[view.reached[arms]]
        lower = now - _looking(view, arms, rest[paid, arms[:, None]])
        gain[arms] = np.where(paid >= 0, lower / prices[paid], -np.inf).max(axis=1)
    return gain


def _left_to_others(view: Outlook, in_hand: float) -> tuple[Codes, Codes, Array]:
    """What looking ahead costs, and what the others promise after it.

    Prices from low to high; which of them an arm at each place pays for each number of readings ahead, −1 where
    it cannot (T+1, numbers); and for each price and arm the best of the others with what is left, or ζ (prices, K).
    """
    prices, which = _prices(tuple(view.steps.tolist()))
    which = np.where((which >= 0) & (prices[which] < view.left), which, -1)
    others = other_best(view.losses_with(view.left - prices.astype(float)))
    return prices, which, np.minimum(others, in_hand)


@lru_cache(maxsize=16)
def _prices(steps: tuple[int, ...]) -> tuple[Codes, Codes]:
    """What some readings ahead can cost, and which of these an arm at each place pays for each number; −1 beyond T."""
    begun = np.array([0, *steps])
    after = np.arange(len(begun))[:, None] + np.array(AHEAD)
    possible = after < len(begun)
    prices, paid = np.unique((begun[np.minimum(after, len(begun) - 1)] - begun[:, None])[possible], return_inverse=True)
    which = np.full(after.shape, -1)
    which[possible] = paid
    return prices, which


def _looking(view: Outlook, arms: Codes, rest: Array) -> Array:
    """The expected final loss after looking at some arms, for each number of readings ahead: the shape of ``rest``."""
    arms = arms[:, None]
    place = view.place[arms]
    told = view.belief.variances(arms, place) - view.belief.variances(arms, place, np.array(AHEAD))
    return expected_minimum(view.loss[arms], np.sqrt(np.maximum(told, 0.0)), rest)
