"""Schedulers: how long to run each trial."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.schedulers.asha import ASHA as ASHA
    from shoestring.schedulers.async_sub_sampling import AsyncSubSampling as AsyncSubSampling
    from shoestring.schedulers.confidence_stop import ConfidenceStop as ConfidenceStop
    from shoestring.schedulers.full import Full as Full
    from shoestring.schedulers.halving import Hyperband as Hyperband, SuccessiveHalving as SuccessiveHalving
    from shoestring.schedulers.modified_sub_sampling import ModifiedSubSampling as ModifiedSubSampling
    from shoestring.schedulers.sub_sampling import SubSampling as SubSampling

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "asha": "ASHA",
        "async_sub_sampling": "AsyncSubSampling",
        "confidence_stop": "ConfidenceStop",
        "full": "Full",
        "halving": "Hyperband SuccessiveHalving",
        "modified_sub_sampling": "ModifiedSubSampling",
        "sub_sampling": "SubSampling",
    },
)
