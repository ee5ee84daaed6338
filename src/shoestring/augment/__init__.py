"""Data augmentation search with a bandit over 22,500 policies (needs ``pip install 'shoestring[augment]'``).

The method is Bandit Data Augment: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches
for AutoML Problems, MSc thesis, University of Alberta, 2021, chapter 3. Rankings can be loaded and merged without
torch; searching and augmenting need it.

A policy is two operations, ``first`` and ``second``, at the levels ``first_level`` and ``second_level`` from 0 to 9;
``pairs`` are policies at any level. A ranked ``policy`` or ``pair`` has a ``mean`` reward, its upper confidence bound
``ucb`` and its number of ``plays``. A set of policies has the ``counts``, the ``totals`` and the ``squares`` of the
rewards of each policy, the ``estimate`` by which they are ranked, and what it is ``about``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names, with_torch

if TYPE_CHECKING:
    from shoestring.augment.bandit_search import search as search
    from shoestring.augment.policies import OPERATIONS as OPERATIONS, Pair as Pair, Policy as Policy
    from shoestring.augment.policy_set import (
        PolicySet as PolicySet,
        RankedPair as RankedPair,
        RankedPolicy as RankedPolicy,
        policies_of as policies_of,
    )
    from shoestring.augment.transform import Augment as Augment

__all__, _load, __dir__ = lazy_names(
    __name__,
    {
        "bandit_search": "search",
        "policies": "OPERATIONS Pair Policy",
        "policy_set": "PolicySet RankedPair RankedPolicy policies_of",
        "transform": "Augment",
    },
)
__getattr__ = with_torch(__name__, _load)
