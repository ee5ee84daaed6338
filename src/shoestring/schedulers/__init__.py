"""How long to run it."""

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
