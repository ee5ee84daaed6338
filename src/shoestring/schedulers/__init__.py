"""Schedulers: how long to run each trial."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.schedulers.asha import ASHA
    from shoestring.schedulers.async_sub_sampling import AsyncSubSampling
    from shoestring.schedulers.confidence_stop import ConfidenceStop
    from shoestring.schedulers.full import Full
    from shoestring.schedulers.halving import Hyperband, SuccessiveHalving
    from shoestring.schedulers.modified_sub_sampling import ModifiedSubSampling
    from shoestring.schedulers.sub_sampling import SubSampling

__all__ = [
    "ASHA",
    "AsyncSubSampling",
    "ConfidenceStop",
    "Full",
    "Hyperband",
    "ModifiedSubSampling",
    "SubSampling",
    "SuccessiveHalving",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ASHA": "asha",
        "AsyncSubSampling": "async_sub_sampling",
        "ConfidenceStop": "confidence_stop",
        "Full": "full",
        "Hyperband": "halving",
        "ModifiedSubSampling": "modified_sub_sampling",
        "SubSampling": "sub_sampling",
        "SuccessiveHalving": "halving",
    },
)
