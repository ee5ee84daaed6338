"""What to try."""

from shoestring.samplers.boes import BOES
from shoestring.samplers.cmaes import CMAES
from shoestring.samplers.gp import GaussianProcess
from shoestring.samplers.simple import Grid, LatinHypercube, Random
from shoestring.samplers.tpe import TPE

__all__ = ["BOES", "CMAES", "TPE", "GaussianProcess", "Grid", "LatinHypercube", "Random"]
