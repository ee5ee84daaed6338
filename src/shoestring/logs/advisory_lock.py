"""An advisory lock by a locked file, for processes that share a file system.

The system releases the lock when its holder ends. A holder that is stopped does not end, so no process waits longer
than a lease, and after that none waits for a while.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from shoestring.core import heartbeats
from shoestring.core.workers import ticks

try:
    import fcntl
except ImportError:  # not a Unix system: without the lock, which costs only time
    fcntl = None  # type: ignore[assignment]

_LONGEST_PAUSE = 0.005


class FileLock:
    def __init__(self, path: str) -> None:
        self._path = path
        self._pointless_until = 0.0

    @contextmanager
    def hold(self) -> Iterator[None]:
        file = None
        with suppress(OSError):  # such as a folder that cannot be written: then without the lock
            file = self._lock()
        try:
            yield
        finally:
            if file is not None:
                os.close(file)

    def _lock(self) -> int | None:
        """Return the open file, locked by this process; None if another process does not release it."""
        started, pause = ticks(), 0.0005
        if fcntl is None or started < self._pointless_until:
            return None
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        while ticks() < started + heartbeats.LEASE:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except OSError:
                break
        os.close(file)
        self._pointless_until = ticks() + heartbeats.LEASE
        return None
