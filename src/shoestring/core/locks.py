"""A lock for the threads of one process."""

from __future__ import annotations

import threading


class ThreadLock:
    """A re-entrant lock. Copying or pickling it makes a new one, so that an object with a lock can still be copied."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ThreadLock], tuple[()]]:
        return ThreadLock, ()
