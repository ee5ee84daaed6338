"""Keyed randomness: a generator is a function of (seed, position, purpose), never a stream.

No object owns a generator and nothing reads a global one, so a decision draws the same numbers whether the process has
just started or has run for a week.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np


def _digest(seed: int, position: int, purpose: str) -> bytes:
    return blake2b(f"{seed}/{position}/{purpose}".encode(), digest_size=16).digest()


@cache
def _key_type() -> Any:
    """A seed sequence that only holds the key: given a key directly, Philox still gathers entropy first."""
    from numpy.random.bit_generator import ISeedSequence

    class Key(ISeedSequence):
        def __init__(self, key: bytes) -> None:
            self.key = key

        def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
            return np.frombuffer(self.key, dtype=dtype)[:n_words]

    return Key


def generator(seed: int, position: int, purpose: str) -> np.random.Generator:
    """A counter-based generator for one purpose at one place of one study.

    >>> from shoestring.core.randomness import generator
    >>> generator(0, 7, "decide").random() == generator(0, 7, "decide").random()
    True
    >>> generator(0, 7, "decide").random() == generator(0, 8, "decide").random()
    False
    """
    return np.random.Generator(np.random.Philox(_key_type()(_digest(seed, position, purpose))))


def integer(seed: int, position: int, purpose: str) -> int:
    """A non-negative 31-bit integer for one purpose, fit to seed any library.

    >>> from shoestring.core.randomness import integer
    >>> integer(0, 3, "trial") == integer(0, 3, "trial")
    True
    """
    return int.from_bytes(_digest(seed, position, purpose), "little") % 2**31
