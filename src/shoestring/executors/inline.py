"""Trials in this very process, one at a time.

A paused generator is simply not advanced. A bounded number are kept alive; beyond that the one
that has waited longest is let go, and taken up later from the files it kept, or from the start.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoestring.core.workers import now
from shoestring.errors import MethodError
from shoestring.executors.base import Job, Report, Stepper, remembers_nothing
from shoestring.executors.checkpoints import files_of


class _TimeIsUp(BaseException):
    """Raised inside a step when the budget's time ends; not an Exception, so that objectives let it pass."""


@dataclass(frozen=True)
class Inline:
    """Run trials in this process. ``alive`` is how many paused trials are kept ready to go on."""

    alive: int = 64

    def __post_init__(self) -> None:
        if self.alive < 1:
            raise MethodError(f"alive is {self.alive}; at least the running trial must be kept alive")

    def open(self, objective: Any, directory: Path) -> InlineSession:
        return InlineSession(objective, directory, self.alive)


class InlineSession:
    slots = 1
    renews = False

    def __init__(self, objective: Any, directory: Path, alive: int) -> None:
        self._objective = objective
        self._directory = str(directory)
        self._limit = alive
        self._leftovers = directory.exists()  # of an earlier run; else a new trial has no files to clear away
        self._alive: dict[int, Stepper] = {}
        self._current: Stepper | None = None
        self._interrupted = False
        self._before = self._listen()

    def _listen(self) -> Any:
        """Some libraries catch Ctrl-C and go on; what they return then is no reading, so it is noted here."""
        if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return None

        def note(*_: Any) -> None:
            self._interrupted = True
            raise KeyboardInterrupt

        return signal.signal(signal.SIGINT, note)

    def now(self) -> float:
        return now()

    def resume_from(self, trial: int, step: int) -> int:
        stepper = self._alive.get(trial)
        # Another process may have carried the trial on since it was paused here.
        if remembers_nothing(self._objective) or (stepper is not None and stepper.step == step):
            return step
        return files_of(self._directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        stepper = self._alive.pop(job.trial, None)
        if stepper is None or stepper.step != job.start:
            files = files_of(self._directory, job.trial)
            if job.known or self._leftovers:
                files.restore(job.start)
            stepper = Stepper(self._objective, job, files)
        stepper.job = job
        self._current = self._alive[job.trial] = stepper
        while len(self._alive) > self._limit:
            self._alive.pop(next(iter(self._alive))).stop()

    def collect(self, until: float | None) -> list[Report]:
        current = self._current
        if current is None:
            return []
        try:
            if until is None:
                report = current.advance()
            else:
                with _ended_after(until - now()):
                    report = current.advance()
        except _TimeIsUp:
            self._current = None  # the step is broken off; the driver ends the trial
            return []
        if self._interrupted:
            raise KeyboardInterrupt
        if report.how != "reading" or report.step >= current.job.until:
            self._current = None
        return [report]

    def cancel(self, trial: int) -> None:
        stepper = self._alive.pop(trial, None)
        if stepper is not None:
            stepper.stop()
            if stepper.files.used:
                stepper.files.settle()
        if self._current is stepper:
            self._current = None

    def close(self) -> None:
        for stepper in self._alive.values():
            stepper.stop()
        self._alive.clear()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Interrupt the block when the time is up, where the system can do that (Unix, main thread)."""
    if not hasattr(signal, "setitimer") or not _in_main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise _TimeIsUp

    begun, previous = now(), signal.signal(signal.SIGALRM, interrupt)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer:  # a study inside a step of another: its deadline still stands
            signal.setitimer(signal.ITIMER_REAL, max(outer - (now() - begun), 1e-6))
