"""The policies that AutoAugment found for CIFAR-10 and SVHN, as policies of ours.

Cubuk, Zoph, Mane, Vasudevan and Le, AutoAugment: learning augmentation policies from data, arXiv:1805.09501, Tables 7
and 8: 25 sub-policies each, an operation with its probability and level, then another. An operation that is not
applied is a shear by nothing, and the three operations without a magnitude are at their full strength, level 9.
Probabilities are tenths, so a sub-policy is a hundred policies, of which one is drawn.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from shoestring.augment.policies import LEVELS, OPERATIONS, PER_PAIR

CIFAR10 = """
Invert 1 9 Contrast 2 6|Rotate 7 2 TranslateX 3 9|Sharpness 8 1 Sharpness 9 3|ShearY 5 8 TranslateY 7 9
AutoContrast 5 9 Equalize 9 9|ShearY 2 7 Posterize 3 7|Color 4 3 Brightness 6 7|Sharpness 3 9 Brightness 7 9
Equalize 6 9 Equalize 5 9|Contrast 6 7 Sharpness 6 5|Color 7 7 TranslateX 5 8|Equalize 3 9 AutoContrast 4 9
TranslateY 4 3 Sharpness 2 6|Brightness 9 6 Color 2 8|Solarize 5 2 Invert 0 9|Equalize 2 9 AutoContrast 6 9
Equalize 2 9 Equalize 6 9|Color 9 9 Equalize 6 9|AutoContrast 8 9 Solarize 2 8|Brightness 1 3 Color 7 0
Solarize 4 5 AutoContrast 9 9|TranslateY 9 9 TranslateY 7 9|AutoContrast 9 9 Solarize 8 3|Equalize 8 9 Invert 1 9
TranslateY 7 9 AutoContrast 9 9
"""
SVHN = """
ShearX 9 4 Invert 2 9|ShearY 9 8 Invert 7 9|Equalize 6 9 Solarize 6 6|Invert 9 9 Equalize 6 9|Equalize 6 9 Rotate 9 3
ShearX 9 4 AutoContrast 8 9|ShearY 9 8 Invert 4 9|ShearY 9 5 Solarize 2 6|Invert 9 9 AutoContrast 8 9
Equalize 6 9 Rotate 9 3|ShearX 9 4 Solarize 3 3|ShearY 8 8 Invert 7 9|Equalize 9 9 TranslateY 6 6
Invert 9 9 Equalize 6 9|Contrast 3 3 Rotate 8 4|Invert 8 9 TranslateY 0 2|ShearY 7 6 Solarize 4 8|Invert 6 9 Rotate 8 4
ShearY 3 7 TranslateX 9 3|ShearX 1 6 Invert 6 9|Solarize 7 2 TranslateY 6 7|ShearY 8 4 Invert 8 9
ShearX 7 9 TranslateY 8 3|ShearY 8 5 AutoContrast 7 9|ShearX 7 2 Invert 1 9
"""
NOTHING = ("ShearX", 0)


def policies(text: str) -> NDArray[np.int64]:
    """The numbers of the policies, each as often as its share of a hundred."""
    found = []
    for line in text.strip().replace("\n", "|").split("|"):
        first, p, level, second, q, other = line.split()
        one, two = _tenths((first, int(level)), int(p)), _tenths((second, int(other)), int(q))
        found += [_number(*a, *b) for a, b in product(one, two)]
    return np.array(found)


def _tenths(operation: tuple[str, int], probability: int) -> list[tuple[str, int]]:
    return [operation] * probability + [NOTHING] * (10 - probability)


def _number(first: str, level: int, second: str, other: int) -> int:
    pair = OPERATIONS.index(first) * len(OPERATIONS) + OPERATIONS.index(second)
    return pair * PER_PAIR + level * LEVELS + other
