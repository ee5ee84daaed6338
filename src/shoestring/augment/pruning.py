"""Rules for the policies that stay active after a round: evolutionary pruning of pairs, successive halving of policies,
or all.

* ``"eop"``, evolutionary operation pruning: round t keeps the 225·(2/3)^t pairs with the largest UCB. Pairs that were
  dropped before can return, and those that are kept get more magnitudes, in three stages.
* ``"sh"``, successive halving: the worst third of the active policies is dropped, whatever their operations.
* ``"none"``: every policy stays active.

Reference: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for AutoML Problems, MSc
thesis, University of Alberta, 2021: Algorithm 3 and the ablations of Table 3.7. Differs from the thesis in breaking
ties at random: about a fifth of the scaled rewards are exactly 1, and ties by index would favour shears.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.augment.bandit import Bandit
from shoestring.augment.estimates import Estimate
from shoestring.augment.policies import PAIRS, PER_PAIR, POLICIES, STAGES, stage_of_levels

Pruning = Literal["eop", "sh", "none"]

_KEPT = 2 / 3  # of the pairs or policies, after each round


def first_policies(pruning: Pruning) -> Mask:
    """The policies that are active in the first round."""
    if pruning == "eop":
        return _at_stages(np.arange(PAIRS), np.zeros(PAIRS, dtype=np.int64))
    return np.ones(POLICIES, dtype=bool)


def next_policies(
    pruning: Pruning, round: int, bandit: Bandit, stages: Codes, estimate: Estimate, rng: np.random.Generator
) -> Mask:
    """The policies that are active after ``round`` (1, 2, …); ``stages`` (225,) of the pairs is changed in place."""
    if pruning == "none":
        return bandit.active
    if pruning == "sh":
        ucbs = np.where(bandit.active, bandit.estimates(estimate).policy_ucbs, -np.inf)
        mask = np.zeros(POLICIES, dtype=bool)
        mask[_largest_first(ucbs, rng)[: max(int(bandit.active.sum() * _KEPT), 1)]] = True
        return mask
    # Algorithm 3
    pair_ucbs = bandit.estimates(estimate).pair_ucbs  # line 2, Eq. 3.6
    pairs = _largest_first(pair_ucbs, rng)[: max(int(PAIRS * _KEPT**round), 1)]  # lines 3 and 4
    if round >= 2:  # lines 6 and 7
        stages[pairs] = np.minimum(stages[pairs] + 1, STAGES - 1)
    return _at_stages(pairs, stages)  # lines 1 and 8


def _largest_first(values: Array, rng: np.random.Generator) -> Codes:
    """Indices from the largest value to the smallest, ties in random order."""
    return np.lexsort((rng.random(len(values)), -values))


def _at_stages(pairs: Codes, stages: Codes) -> Mask:
    """The policies of some pairs at their magnitude stages."""
    mask = np.zeros((PAIRS, PER_PAIR), dtype=bool)
    mask[pairs] = stage_of_levels()[None, :] <= stages[pairs, None]
    return mask.ravel()
