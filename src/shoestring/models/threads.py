"""One thread for small matrices.

A decision multiplies matrices of a few hundred rows. Threads that wait for each other there cost ten times what they
save, the more so where other work keeps the cores busy, as a training does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Found once, after the libraries that it looks for are loaded."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra within runs on one thread; what the objective does is not touched.

    >>> from shoestring.models.threads import one_thread
    >>> with one_thread():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
