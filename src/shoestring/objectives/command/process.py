"""The process of a command, which ends together with the process that started it.

The command is the leader of a process group of its own: its child processes end with it, and Ctrl-C in a terminal
does not reach it before we decide what becomes of it. If the process that runs the study is killed, a second, tiny
process, the guard, notices that and ends the groups that are left.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from shoestring.core.workers import ticks
from shoestring.errors import CommandError
from shoestring.objectives.unwinding import TimeIsUp

# Seconds from the request to end (SIGTERM) to the end (SIGKILL).
GRACE = 3.0
# Seconds between two looks whether a command has ended whose output is kept open by a process that it left behind.
_LOOK = 0.05
_LONGEST_LINE = 1 << 20
# A pipe holds no more: output after that comes from a process that the command left behind.
_LARGEST_PIPE = 1 << 20
_TAIL_BYTES, _TAIL_LINES = 4096, 6
# Bytes of standard error that are kept before all but the last are dropped.
_MOST_ERRORS = 1 << 20

_GUARD = """
import os, signal, sys, time
groups = set()
for line in filter(str.strip, sys.stdin):
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
def send(number):
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            pass
send(signal.SIGTERM); send(signal.SIGCONT)
if groups:
    time.sleep(float(sys.argv[1]))
send(signal.SIGKILL)
"""

_guard: int | None = None  # the pipe to it


def _tell_guard(order: str) -> None:
    """Tell the guard which group there is (+) or is no more (-); it is started with the first command."""
    global _guard
    for _ in range(2):
        if _guard is None:
            _guard = _start_guard()
        try:
            os.write(_guard, f"{order}\n".encode())
            return
        except OSError:  # the guard was killed
            _forget_guard()


def _start_guard() -> int:
    read, write = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", _GUARD, str(GRACE)]
    started = subprocess.Popen(command, stdin=read, stdout=subprocess.DEVNULL, start_new_session=True, cwd="/")
    started.returncode = 0  # it is not waited for: it ends after this process
    os.close(read)
    return write


def _forget_guard() -> None:
    """Also in a forked process: the guard watches the parent, and must not wait for this one too."""
    global _guard
    if _guard is not None:
        os.close(_guard)
        _guard = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_guard)


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Put off Ctrl-C and the alarm of a deadline until the end of the block, so that no process is started unseen."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread():
        ours = {}  # signals are handled in the main thread alone
    came: list[int] = []
    for number in ours:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


class CommandProcess:
    """A command that is running. Leave the ``with`` block, and nothing of it is left."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed on exit
        # The command writes at the end of the file wherever that is, even after it was cut.
        fcntl.fcntl(self._errors, fcntl.F_SETFL, fcntl.fcntl(self._errors, fcntl.F_GETFL) | os.O_APPEND)
        process = None
        try:
            with _defer_signals():
                process = self._process = _start(arguments, self._errors)
                _tell_guard(f"+{process.pid}")
        except BaseException as error:  # the program cannot be run; or Ctrl-C at this moment
            if process is not None:
                self._end()
            self._errors.close()
            if isinstance(error, OSError):
                raise CommandError(f"the program {arguments[0]!r} cannot be run: {error.strerror}") from None
            raise

    def __enter__(self) -> CommandProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        _tell_guard(f"-{self._process.pid}")
        self._errors.close()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def lines(self) -> Iterator[str]:
        """Iterate over the lines of its output as they arrive, until the command ends."""
        assert self._process.stdout is not None
        output, rest, left = self._process.stdout.fileno(), b"", _LARGEST_PIPE
        while left > 0:
            ended = self._process.poll() is not None  # checked first: the output from before is in the pipe
            self._cut_errors()
            if select.select([output], [], [], 0.0 if ended else _LOOK)[0]:
                data = os.read(output, 1 << 16)
                *whole, rest = (rest + data).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
                if not data:
                    break
                left -= len(data) if ended else 0
                if len(rest) > _LONGEST_LINE:
                    raise CommandError(f"the command printed a line of more than {_LONGEST_LINE} bytes")
            elif ended:
                break
        if rest:
            yield rest.decode(errors="replace")

    def check(self) -> None:
        """Wait for the end of the command; an error if it was not a good one."""
        code: int | None = None
        while code is None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(1.0)
            self._cut_errors()
        if code == 0:
            return
        how = f"ended with exit code {code}" if code > 0 else f"was ended by {_signal_name(-code)}"
        raise CommandError(f"the command {how}{self.last_errors()}")

    def last_errors(self) -> str:
        """The last lines of its standard error, as the end of a message."""
        text = self._end_of_errors().decode(errors="replace").replace("\r", "\n")
        plain = ("".join(c if c.isprintable() else " " for c in line).strip() for line in text.splitlines())
        last = [line for line in plain if line][-_TAIL_LINES:]
        return f": {' | '.join(last)}" if last else ""

    def _end_of_errors(self) -> bytes:
        file = self._errors.fileno()
        return os.pread(file, _TAIL_BYTES, max(0, os.fstat(file).st_size - _TAIL_BYTES))

    def _cut_errors(self) -> None:
        """Keep only the end of what it printed, so that a command that warns for days does not fill the disk."""
        file = self._errors.fileno()
        while (size := os.fstat(file).st_size) > _MOST_ERRORS:
            last = self._end_of_errors()
            if os.fstat(file).st_size == size:  # nothing was printed meanwhile, which would be lost
                os.ftruncate(file, 0)
                os.write(file, last)

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _end(self) -> None:
        """End the command and all that it started: politely at first, unless it has ended already."""
        try:
            if self._process.poll() is None:
                self._send(signal.SIGTERM)
                self._send(signal.SIGCONT)
                _wait(self._process, ticks() + GRACE)
        finally:
            self._send(signal.SIGKILL)
            self._process.wait()


def _start(arguments: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    _tell_guard("")  # it has to be there before the command is
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        # Python buffers its output if it is not a terminal; a reading is needed at once.
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def _wait(process: subprocess.Popen[bytes], until: float) -> None:
    while process.poll() is None and ticks() < until:
        with suppress(TimeIsUp):  # it is repeated until the step has ended, which is what happens here
            time.sleep(0.01)


def _signal_name(number: int) -> str:
    try:
        name: Any = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (the system may have run out of memory)" if number == signal.SIGKILL else str(name)
