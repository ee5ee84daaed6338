"""Limits linear algebra to one thread.

A decision multiplies matrices of a few hundred rows. There, threads that wait for each other cost ten times what they
save, and more while a training keeps the cores busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Created once. SciPy must be loaded first, because only libraries that are already loaded are limited."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra inside the block runs on one thread; the objective's own threads are not limited.

    >>> from shoestring.models.threads import one_thread
    >>> with one_thread():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
