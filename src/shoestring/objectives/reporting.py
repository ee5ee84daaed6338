"""Functions that report their steps with ``trial.report``, from inside a loop that a training framework owns.

A generator gives control back after each step, a function does not. So a function that may take several steps runs in
a thread of its own, and the two threads take turns: ``trial.report`` hands a reading over and waits there until the
executor asks for the next step, which it does when the reading is in the log. At the last step of its grant
``trial.report`` raises :class:`GrantEnded` instead, which unwinds the function; the reading is handed over when the
function has ended. If the trial is granted more steps, the function is called again. A function with a single step
runs in the thread of its executor.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Generator
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple, NoReturn

from shoestring.core.readings import Reading
from shoestring.core.workers import ticks
from shoestring.errors import ReadingError
from shoestring.objectives.failures import error_line
from shoestring.objectives.job import Job
from shoestring.objectives.trial import Trial
from shoestring.objectives.unwinding import GrantEnded

_logger = logging.getLogger("shoestring")

# Seconds between two interruptions of a function that must end, and how long it may take to do so.
_AGAIN = 0.2
_PATIENCE = 10.0
# For this many seconds, a function that has noticed its end may clean up undisturbed.
_UNDISTURBED = 5.0
# A function that reports again so often after its end catches every exception, and may never end.
_MOST_CAUGHT = 3
# Seconds between two looks for signals while the function runs.
_WAKE = 0.2


class _Turn(NamedTuple):
    """A message from the thread of a function: a reading, or how the function ended."""

    kind: Literal["reading", "returned", "raised"]
    value: Any


class Call:
    """The steps of one call of a function, one after another, as a generator gives them."""

    def __init__(self, objective: Any, trial: Trial, job: Job) -> None:
        self.unwound = False  # at the end of its grant: then the trial is no longer in memory
        self._over = False
        self._objective, self._trial, self._job = objective, trial, job
        self._step = trial.start
        self._several = (job.most or 1) > 1
        self._process = os.getpid()
        self._turns: SimpleQueue[_Turn] = SimpleQueue()
        self._orders: SimpleQueue[bool] = SimpleQueue()  # whether to go on
        self._thread: threading.Thread | None = None
        self._generator: Generator[Any, None, None] | None = None  # which the function made instead
        self._last: list[Reading] = []  # the reading at the end of the grant
        self._refusal: ReadingError | None = None
        self._closed = False
        self._waits = False  # in trial.report, for the order to go on
        self._caught = 0
        trial.connect(self._report)

    def __next__(self) -> Any:
        if self._generator is not None:
            return next(self._generator)
        if self._over:
            raise StopIteration
        if not self._several:
            self._run()
        elif self._thread is None:
            name = f"shoestring-trial-{self._job.trial}"
            self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name=name, daemon=True)
            self._thread.start()
        else:
            self._orders.put(True)
        self._waits = False
        turn = self._next_turn()
        self._waits = turn.kind == "reading"
        return turn.value if self._waits else self._outcome(turn)

    def _next_turn(self) -> _Turn:
        """Wait for the function. A signal that comes just before the wait interrupts nothing until it wakes up."""
        while True:
            with suppress(Empty):
                return self._turns.get(timeout=_WAKE)

    def _run(self) -> None:
        """Call the function; in its own thread, if it may take several steps."""
        try:
            turn = _Turn("returned", self._objective(self._trial))
        except GrantEnded:
            turn = _Turn("returned", None)
        except BaseException as error:
            turn = _Turn("raised", error)
        self._end_forked()
        self._turns.put(turn)

    def _report(self, reading: Reading, step: int | None) -> None:
        """``trial.report``, called by the function."""
        self._end_forked()
        if self._job.most is None and self._last and self._refusal is None:
            self._refusal = ReadingError(
                "the objective reports more than one step: say how many steps a trial can have, max_resource=..."
            )
            raise GrantEnded
        if self._closed or self._last or self._refusal:
            self._end_again()
        due = self._step + 1
        if step is not None and step != due:
            self._refusal = _wrong_step(step, due, self._trial.start)
            raise GrantEnded
        self._step = due
        if due >= self._job.until:
            self._last.append(reading)
            if self._job.most is None:
                return  # it may have reported its one value; a second report shows that max_resource is missing
            raise GrantEnded
        self._turns.put(_Turn("reading", reading))
        if not self._orders.get():
            raise GrantEnded

    def _outcome(self, turn: _Turn) -> Any:
        """The reading of the last step of a function that has ended; an error if it did not end well."""
        self._over = True
        if self._refusal is not None:
            raise self._refusal
        if self._last:
            if turn.kind == "raised":  # by its clean-up, or by a framework in place of our exception
                self._warn("raised when its grant ended: %s", error_line(turn.value))
            self.unwound = True
            return self._last[0]
        if isinstance(turn.value, StopIteration):
            raise RuntimeError("the objective raised StopIteration") from turn.value
        if turn.kind == "raised":
            raise turn.value
        return self._take_returned(turn.value)

    def _take_returned(self, value: Any) -> Any:
        """Interpret the value of a function that returned before its grant ended."""
        if hasattr(value, "__next__"):
            self._trial.connect(None)
            self._generator = value
            return next(value)
        if self._several and (value is None or self._step or self._job.known):
            if value is not None:
                self._warn("returned %r, which is ignored: its readings are what it reports", value)
            raise StopIteration
        if self._several:
            self._warn(
                "returned %r and reported no step: that is its one reading, and it is finished. If it takes several "
                "steps, call trial.report(value) after each",
                value,
            )
        return value

    def close(self) -> None:
        """Unwind the function: by itself if it waits in ``trial.report``, else as soon as Python can interrupt it."""
        if not self._waits:
            self._caught = -1  # its next report may be the first that it hears of its end
        self._closed = True
        if self._generator is not None:
            self._generator.close()
        if self._thread is None or self._over:
            return
        self._orders.put(False)
        started = ticks()
        undisturbed = started + _UNDISTURBED if self._waits else started
        while self._thread.is_alive() and ticks() < started + _PATIENCE:
            self._thread.join(_AGAIN)
            if ticks() >= undisturbed:
                _interrupt(self._thread)
        if self._thread.is_alive():
            self._warn("has ended, but its function still runs after %g s; it is left behind", _PATIENCE)

    def _end_again(self) -> NoReturn:
        """Handle a function that has caught the exception that ends it and goes on; its further steps do not count."""
        self._caught += 1
        if self._caught == 1:
            self._warn(
                "goes on after its grant ended: it catches the exception that ends it. Write `except Exception:` "
                "instead of `except:` or `except BaseException:` around trial.report"
            )
        if self._caught == _MOST_CAUGHT and self._thread is not None:
            self._turns.put(_Turn("returned", None))
            threading.Event().wait()  # blocks: the thread takes no more time, and ends with the process
        raise GrantEnded

    def _end_forked(self) -> None:
        """End a process that the function forked and that comes back from it: only its parent runs the study."""
        if os.getpid() != self._process:
            os._exit(1)

    def _warn(self, text: str, *values: object) -> None:
        _logger.warning(f"trial %d {text}", self._job.trial, *values)


def _interrupt(thread: threading.Thread) -> None:
    """Raise the exception in another thread, at its next line of Python."""
    if thread.is_alive() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(GrantEnded))


def _wrong_step(step: object, due: int, start: int) -> ReadingError:
    resumed = f" (it continues after step {start}: load its checkpoint)" if start else ""
    return ReadingError(
        f"step {step!r} was reported and step {due} is due{resumed}: report every step, in order, from 1. If you "
        "evaluate every few epochs, let that be one step and leave step= out"
    )
