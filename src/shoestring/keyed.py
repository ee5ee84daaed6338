"""Randomness by position: a generator is a function of (seed, position, purpose), never a stream.

Nothing owns a generator and nothing reads a global one, so a decision draws the same numbers
whether the process has just started or has run for a week.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def _digest(seed: int, position: int, purpose: str) -> int:
    text = f"{seed}/{position}/{purpose}".encode()
    return int.from_bytes(blake2b(text, digest_size=16).digest(), "little")


def generator(seed: int, position: int, purpose: str) -> np.random.Generator:
    """A counter-based generator for one purpose at one place of one study.

    >>> from shoestring.keyed import generator
    >>> generator(0, 7, "decide").random() == generator(0, 7, "decide").random()
    True
    >>> generator(0, 7, "decide").random() == generator(0, 8, "decide").random()
    False
    """
    import numpy as np

    return np.random.Generator(np.random.Philox(key=_digest(seed, position, purpose)))


def integer(seed: int, position: int, purpose: str) -> int:
    """A non-negative 31-bit integer for one purpose, fit to seed any library.

    >>> from shoestring.keyed import integer
    >>> integer(0, 3, "trial") == integer(0, 3, "trial")
    True
    """
    return _digest(seed, position, purpose) % 2**31
