"""Methods: what to try and for how long, decided together; and every method by name.

``method="bohb"`` is ``method=ss.methods.BOHB()`` with its default options. What several of them take:

* ``sampler``: what proposes new configurations; TPE unless another is given.
* ``learn_from``: with "earlier" the model of a bracket learns from the brackets before it, with "all" from everything.
* ``iterations``: after how many brackets the study is complete; without it, the budget alone ends it.
* ``eta``, ``min_resource``, ``replicate``, ``overlap``, ``beta``, ``weights``, ``compare``: as in
  ``shoestring.schedulers``.
* ``pool``: how many configurations the model considers; more when half of them were started.
* ``unit``: how many steps one decision trains; by default a full training has at most 27 units.
* ``scale``: whether readings enter the model as their "ranks" or "raw".
* ``learn``: how the parameters of the model are learned: by maximum likelihood ("ml"), by "slice" sampling, or not.
* ``parameters``: values of the model's parameters to start from.
* ``name``: the name of a method, as in ``names()``; ``cls``: a class to register.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.methods.baselines.bayesian_optimization import BayesianOptimization as BayesianOptimization
    from shoestring.methods.baselines.fabolas import Fabolas as Fabolas
    from shoestring.methods.baselines.freeze_thaw import FreezeThaw as FreezeThaw
    from shoestring.methods.baselines.random_search import RandomSearch as RandomSearch
    from shoestring.methods.baselines.rollout import Rollout as Rollout
    from shoestring.methods.bhpt import BHPT as BHPT
    from shoestring.methods.boss import BOHB as BOHB, BOSS as BOSS
    from shoestring.methods.forecast import Forecast as Forecast
    from shoestring.methods.parallel_boss import ParallelBOSS as ParallelBOSS
    from shoestring.methods.registry import named as named, names as names, register as register

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "baselines.bayesian_optimization": "BayesianOptimization",
        "baselines.fabolas": "Fabolas",
        "baselines.freeze_thaw": "FreezeThaw",
        "baselines.random_search": "RandomSearch",
        "baselines.rollout": "Rollout",
        "bhpt": "BHPT",
        "boss": "BOHB BOSS",
        "forecast": "Forecast",
        "parallel_boss": "ParallelBOSS",
        "registry": "named names register",
    },
)
