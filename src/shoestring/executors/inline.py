"""Trials in this process, one at a time. A paused trial is a generator that is not advanced."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from shoestring.core.options import check_whole
from shoestring.core.workers import ticks
from shoestring.objectives.checks import is_stateless
from shoestring.objectives.held_trials import HeldTrials
from shoestring.objectives.job import Job, Report
from shoestring.objectives.stepper import Stepper
from shoestring.objectives.trial_files import files_of
from shoestring.objectives.unwinding import TimeIsUp

T = TypeVar("T")
# Seconds between two interruptions of a step that must end: a bare ``except:`` in an objective may catch the first.
_AGAIN = 0.2


@dataclass(frozen=True)
class Inline:
    """Run trials in this process. ``alive`` is how many trials, the running one included, are held in memory."""

    alive: int = 64

    def __post_init__(self) -> None:
        check_whole(self, alive=1)

    def open(self, objective: Any, directory: Path) -> InlineSession:
        return InlineSession(objective, directory, self.alive)


class InlineSession:
    slots = 1
    resubmits_running = False
    now = staticmethod(ticks)

    def __init__(self, objective: Any, directory: Path, alive: int) -> None:
        self._stateless = is_stateless(objective)
        self._directory = directory
        self._held = HeldTrials(objective, directory, alive, leftovers=directory.exists())
        self._current: Stepper | None = None
        self._began: float | None = None
        self._interrupted = False
        self._previous_handler = self._note_interrupts()

    def _note_interrupts(self) -> Any:
        """Note Ctrl-C: some libraries catch it and return, and what they return then is not a reading."""
        if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return None

        def note(*_: Any) -> None:
            self._interrupted = True
            raise KeyboardInterrupt

        return signal.signal(signal.SIGINT, note)

    def resume_from(self, trial: int, step: int) -> int:
        if self._stateless or self._held.holds(trial, step):
            return step
        return files_of(self._directory, trial).newest(step)

    def submit(self, job: Job) -> None:
        self._current = self._held.stepper(job)

    def began(self, trial: int) -> float | None:
        return self._began

    def collect(self, until: float | None) -> list[Report]:
        current = self._current
        if current is None:
            return []
        self._began = ticks()
        try:
            report = interrupt_at(until, current.advance)
        except TimeIsUp:
            self._current = None  # the driver ends the trial
            return []
        self._began = None
        if self._interrupted:
            raise KeyboardInterrupt
        if report.completes(current.job):
            self._current = None
        if not report.held:
            self._held.drop(report.trial)
        return [report]

    def cancel(self, trial: int) -> None:
        if self._current is not None and self._current.job.trial == trial:
            self._current = None
        self._began = None
        self._held.drop(trial)

    def close(self) -> None:
        self._held.close()
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)
            self._previous_handler = None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def interrupt_at(time: float | None, function: Callable[[], T]) -> T:
    """Call a function; ``TimeIsUp`` is raised in it at a time, where the system can do so (Unix, main thread).

    The alarm can ring at any moment, also before the function starts and after it has ended. The exception is raised
    only while it runs: anywhere else it would leave the timer running, which would interrupt whatever comes later.
    """
    if time is None or not hasattr(signal, "setitimer") or not _in_main_thread():
        return function()
    block: FrameType | None = None

    def run() -> T:
        nonlocal block
        block = sys._getframe()  # noqa: SLF001  documented in sys
        if ticks() >= time:
            raise TimeIsUp
        return function()

    def interrupt(_: int, frame: FrameType | None) -> None:
        while frame is not None and frame is not block:
            frame = frame.f_back
        if frame is not None:
            raise TimeIsUp

    started, previous = ticks(), signal.signal(signal.SIGALRM, interrupt)
    outer, again = signal.setitimer(signal.ITIMER_REAL, max(time - started, 1e-6), _AGAIN)
    try:
        return run()
    finally:
        block = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer:  # a study inside a step of another: the outer deadline still holds
            signal.setitimer(signal.ITIMER_REAL, max(outer - (ticks() - started), 1e-6), again)
