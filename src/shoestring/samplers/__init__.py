"""Samplers: which configuration to try next."""

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
