"""Heartbeats: a worker that runs trials sends them, and the trials of one that sends none may be taken over.

They are not events: a log that several processes use keeps the last one of each worker in a table of its own,
with the time of the database's clock (``beat`` and ``beats`` of a log). A dead process is noticed at once by
others in the same place; everybody else waits until its lease has expired. Clocks may be set, so a lease expires only
after it was watched for a while: the stored time can shorten the wait, not replace it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from shoestring.core.event_log import CountsConflicts, EventLog, SharedLog
from shoestring.core.history import History
from shoestring.core.workers import DETACHED, process_is_gone, ticks
from shoestring.errors import StorageError

_logger = logging.getLogger("shoestring")

# Seconds: between two heartbeats, until a worker without one is given up, and how long that is watched at least.
BEAT = 5.0
LEASE = 30.0
WATCH = 2 * BEAT

# The workers of this process by storage, with their log and study. A storage that does not answer must not silence
# those on others, so each has a thread.
_held: dict[str, dict[str, tuple[SharedLog, int]]] = {}
_lock = threading.Lock()


def start_heartbeat(log: EventLog, study: int, worker: str) -> None:
    """Send heartbeats for a worker of this process from now on; its first one is stored on return."""
    if not isinstance(log, SharedLog):
        return
    log.beat(study, worker)
    storage = repr(log)
    with _lock:
        if storage in _held:
            _held[storage][worker] = log, study
        else:
            _held[storage] = {worker: (log, study)}
            threading.Thread(target=_beat, args=(storage,), name="shoestring-heartbeats", daemon=True).start()


def stop_heartbeat(worker: str) -> None:
    """Send no more heartbeats for a worker. It takes no lock: the garbage collector may call it at any time."""
    for workers in list(_held.values()):
        workers.pop(worker, None)


def _beat(storage: str) -> None:
    """Send heartbeats as long as there is a worker on a storage."""
    workers = _held[storage]
    while True:
        time.sleep(BEAT)
        for worker, (log, study) in list(workers.items()):
            try:
                log.beat(study, worker)
            except StorageError as error:
                _logger.warning("the heartbeat of %s could not be stored: %s", worker, error)
        with _lock:
            if not workers:
                del _held[storage]
                return


def _forget_after_fork() -> None:
    """Forget the workers in a forked process: they belong to its parent, and it has no thread."""
    global _lock
    _lock = threading.Lock()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class Leases:
    """The leases of a study's workers, as this process has seen them."""

    def __init__(self, log: EventLog, study: int) -> None:
        self._log = log if isinstance(log, SharedLog) else None
        self._study = study
        self._expiry: dict[str, tuple[float, float]] = {}  # the last heartbeat, and when the lease ends, in ticks
        self._read_at = float("-inf")

    def is_gone(self, worker: str) -> bool:
        """Tell whether a worker's trials may be taken over: its process has died, or its lease has expired."""
        gone = process_is_gone(worker)
        if gone or self._log is None or worker == DETACHED:
            return bool(gone)
        if ticks() > self._read_at + BEAT / 5:
            self._read(self._log)
        if worker not in self._expiry:  # its heartbeat was deleted, or was never there
            self._expiry[worker] = 0.0, ticks() + WATCH
        return ticks() > self._expiry[worker][1]

    def _read(self, log: SharedLog) -> None:
        with suppress(StorageError):  # then no worker is given up
            for worker, (beat, age) in log.beats(self._study).items():
                if worker not in self._expiry or self._expiry[worker][0] != beat:
                    self._expiry[worker] = beat, ticks() + LEASE - min(max(age, 0.0), LEASE - WATCH)
            self._read_at = ticks()


@dataclass(frozen=True)
class WorkerRecord:
    """A worker of a study: how many seconds ago its last heartbeat is, if it sends any, and which trials it runs.

    ``state`` is alive, silent if its last heartbeat is too long ago, gone if its process does not exist, or by hand
    if it is not a process: a trial of ``shoestring ask`` is held until it is told or released.
    ``conflicts`` is how often it found that another worker had appended first, where the storage counts that.
    """

    name: str
    state: str
    seconds: float | None
    trials: tuple[int, ...]
    conflicts: int | None = None


def worker_records(log: EventLog, study: int, history: History) -> Iterator[WorkerRecord]:
    """The workers that run a trial or sent a heartbeat lately."""
    beats = log.beats(study) if isinstance(log, SharedLog) else {}
    conflicts = log.conflicts(study) if isinstance(log, CountsConflicts) else {}
    held: dict[str, list[int]] = {}
    for trial in history.running.values():
        held.setdefault(trial.worker, []).append(trial.index)
    for worker in dict.fromkeys([*held, *beats]):
        _, age = beats.get(worker, (0.0, None))
        gone = process_is_gone(worker)
        silent = not gone and ((age is None and gone is None) or (age is not None and age > LEASE))
        if worker in held or not (gone or silent):
            state = DETACHED if worker == DETACHED else "gone" if gone else "silent" if silent else "alive"
            yield WorkerRecord(worker, state, age, tuple(held.get(worker, ())), conflicts.get(worker))
