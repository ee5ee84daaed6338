"""The identity of whoever runs a trial, whether it is still alive, and the clock.

A worker is named host/pid/start/number. The start time of the process distinguishes it from a later one with the same
pid; the number counts the studies that the process opened.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from pathlib import Path

_numbers = itertools.count()
_ended: set[str] = set()


def now() -> float:
    return time.time()


def ticks() -> float:
    """Seconds of a clock that never goes back, to measure durations."""
    return time.monotonic()


def new_worker() -> str:
    """A new worker name for a study that is opened in this process."""
    return f"{socket.gethostname()}/{os.getpid()}/{_start_time(os.getpid())}/{next(_numbers)}"


def retire(worker: str) -> None:
    """Mark a worker of this process as ended, so that others may take over its trials."""
    _ended.add(worker)


def is_alive(worker: str) -> bool:
    """Whether a worker may still report. One on another host cannot be checked and counts as alive."""
    host, _, rest = worker.partition("/")
    pid, _, rest = rest.partition("/")
    if host != socket.gethostname():
        return bool(rest)
    if worker in _ended or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _start_time(int(pid)) == rest.partition("/")[0]


def _start_time(pid: int) -> str:
    """When a process started, in the kernel's clock ticks; empty where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
