"""The identity of the process that runs a trial, whether it has died, and the clocks.

A worker is named host@place/pid/start/number. The place is the machine since its last start and the pid namespace, so
two containers with one host name are two places. The start time of the process distinguishes it from a later one with
the same pid; the number counts the studies that the process opened.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
import sys
import time
import uuid
from functools import cache
from pathlib import Path

_numbers = itertools.count()
_ended: set[str] = set()
# The worker of grants that outlive the process which asked for them; logs hold this text.
DETACHED = "by hand"
# A worker of a simulated run, whose trials run on a virtual clock.
SIMULATED = "simulated"


def now() -> float:
    """Read the time of day, in seconds; this clock can be set at any time."""
    return time.time()


def ticks() -> float:
    """Seconds of a clock that never goes back, to measure durations."""
    return time.monotonic()


def new_worker() -> str:
    """A new worker name for a study that is opened in this process."""
    return f"{socket.gethostname()}@{place()}/{os.getpid()}/{_start_time(os.getpid())}/{next(_numbers)}"


def retire(worker: str) -> None:
    """Mark a worker of this process as ended, so that others may take over its trials."""
    _ended.add(worker)


def process_is_gone(worker: str) -> bool | None:
    """Return whether the process of a worker has died; None if that cannot be checked from here."""
    if worker == DETACHED:
        return False
    host, _, rest = worker.partition("/")
    pid, _, rest = rest.partition("/")
    if not pid.isdigit() or worker in _ended:
        return True
    if host.rpartition("@")[2] != place():
        return None
    if sys.platform == "win32":
        return None  # signal 0 does not exist: os.kill would send Ctrl-C. The lease decides
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return _start_time(int(pid)) != rest.partition("/")[0]


@cache
def place() -> str:
    """A short name of where process numbers mean the same as here."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:  # not Linux: a machine has one space of process numbers
        boot, namespace = f"{uuid.getnode()}", socket.gethostname()
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:8]


def _start_time(pid: int) -> str:
    """Return when a process started, in the kernel's clock ticks; empty where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
