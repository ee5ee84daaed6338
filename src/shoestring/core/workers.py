"""Who is running a trial, whether it is still alive, and what time it is.

A worker is named host/pid/birth/number: the process, told apart from a later one with the same
number by when it was born, and a count of the studies it opened.
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
    """Seconds of a clock that never goes back, for how long something takes."""
    return time.monotonic()


def new_worker() -> str:
    """A name for a new user of a study in this process."""
    return f"{socket.gethostname()}/{os.getpid()}/{_birth(os.getpid())}/{next(_numbers)}"


def retire(worker: str) -> None:
    """Say that a worker of this process has ended, so that its trials may be taken over."""
    _ended.add(worker)


def is_alive(worker: str) -> bool:
    """Whether a worker may still report. One on another host cannot be asked and counts as alive."""
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
    return _birth(int(pid)) == rest.partition("/")[0]


def _birth(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
