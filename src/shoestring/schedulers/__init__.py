"""How long to run it."""

from shoestring.schedulers.asha import ASHA
from shoestring.schedulers.full import Full
from shoestring.schedulers.halving import Hyperband, SuccessiveHalving

__all__ = ["ASHA", "Full", "Hyperband", "SuccessiveHalving"]
