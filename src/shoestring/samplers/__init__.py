"""What to try."""

from shoestring.samplers.simple import Grid, LatinHypercube, Random
from shoestring.samplers.tpe import TPE

__all__ = ["TPE", "Grid", "LatinHypercube", "Random"]
