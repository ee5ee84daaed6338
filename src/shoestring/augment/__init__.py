"""Data augmentation search with a bandit over 22,500 policies (needs ``pip install 'shoestring[augment]'``).

The method is Bandit Data Augment: Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches
for AutoML Problems, MSc thesis, University of Alberta, 2021, chapter 3. Rankings can be loaded and merged without
torch; searching and augmenting need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.augment.bandit_search import search
    from shoestring.augment.policies import OPERATIONS, Pair, Policy
    from shoestring.augment.policy_set import PolicySet, RankedPair, RankedPolicy, policies_of
    from shoestring.augment.transform import Augment

__all__ = [
    "OPERATIONS", "Augment", "Pair", "Policy", "PolicySet", "RankedPair", "RankedPolicy", "policies_of", "search",
]  # fmt: skip

_load, __dir__ = lazy_names(
    __name__,
    {
        "Augment": "transform",
        "search": "bandit_search",
        **dict.fromkeys(("OPERATIONS", "Pair", "Policy"), "policies"),
        **dict.fromkeys(("PolicySet", "RankedPair", "RankedPolicy", "policies_of"), "policy_set"),
    },
)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = f"shoestring.augment.{name} needs torch: pip install 'shoestring[augment]'"
        raise ModuleNotFoundError(message, name="torch") from error
