"""Samplers: which configuration to try next."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.samplers.boes import BOES
    from shoestring.samplers.cmaes import CMAES
    from shoestring.samplers.gp import GaussianProcess
    from shoestring.samplers.simple import Grid, LatinHypercube, Random
    from shoestring.samplers.tpe import TPE

__all__ = ["BOES", "CMAES", "TPE", "GaussianProcess", "Grid", "LatinHypercube", "Random"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BOES": "boes",
        "CMAES": "cmaes",
        "GaussianProcess": "gp",
        "Grid": "simple",
        "LatinHypercube": "simple",
        "Random": "simple",
        "TPE": "tpe",
    },
)
