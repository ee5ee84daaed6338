"""What to feed: a bandit search of data augmentation (needs ``pip install 'shoestring[augment]'``).

The ranking of policies can be read and joined without torch; searching and augmenting need it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoestring.augment.policies import OPERATIONS, Pair, Policy
    from shoestring.augment.policy_set import PolicySet, RankedPair, RankedPolicy, policies_of
    from shoestring.augment.searching import search
    from shoestring.augment.transform import Augment

_HOMES = {
    "OPERATIONS": "policies",
    "Augment": "transform",
    "Pair": "policies",
    "Policy": "policies",
    "PolicySet": "policy_set",
    "RankedPair": "policy_set",
    "RankedPolicy": "policy_set",
    "policies_of": "policy_set",
    "search": "searching",
}

__all__ = [
    "OPERATIONS",
    "Augment",
    "Pair",
    "Policy",
    "PolicySet",
    "RankedPair",
    "RankedPolicy",
    "policies_of",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'shoestring.augment' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"shoestring.augment.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"shoestring.augment.{name} needs torch: pip install 'shoestring[augment]'", name="torch"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
