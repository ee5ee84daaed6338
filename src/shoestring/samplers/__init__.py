"""Samplers: which configuration to try next.

A sampler becomes a method with a scheduler, which says how long each configuration is trained::

    method = ss.compose(ss.samplers.TPE(), ss.schedulers.ASHA(eta=4))

``startup`` is how many configurations are drawn before a model is fitted. With ``fit_at="predictive"`` a model is not
fitted to losses at an early step unless their order has agreed with later ones; with "furthest" it always is.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.samplers.boes import BOES as BOES
    from shoestring.samplers.cmaes import CMAES as CMAES
    from shoestring.samplers.gp import GaussianProcess as GaussianProcess
    from shoestring.samplers.simple import Grid as Grid, LatinHypercube as LatinHypercube, Random as Random
    from shoestring.samplers.tpe import TPE as TPE

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "boes": "BOES",
        "cmaes": "CMAES",
        "gp": "GaussianProcess",
        "simple": "Grid LatinHypercube Random",
        "tpe": "TPE",
    },
)
