"""Schedulers: how long to run each trial.

A scheduler becomes a method with a sampler, ``ss.compose(ss.samplers.Random(), ss.schedulers.Hyperband())``. What
several of them take:

* ``eta``: the best 1/eta of a rung go on, and a rung has eta times the steps of the one below.
* ``min_resource``: the step of the lowest rung.
* ``arms``: how many configurations a bracket starts with; by default as many as one trial at the top needs.
* ``replicate``: "resume" trains the same trial on; "fresh" trains the configuration again from another seed.
* ``overlap``: whether the next bracket may start while trials of this one are still running.
* ``weights``: how much a reading counts in the mean of a configuration: "equal", by its "budget", or by
  "inverse-variance".
* ``compare``: which readings are compared: all "evaluations" at rungs, all "samples", or the readings at one "rung".
* ``beta``: how much a configuration is preferred for each reading that it lacks.
"""

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
