"""Trials in spawned processes, which talk to this one through pipes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoestring.core.options import check_whole
from shoestring.errors import MethodError
from shoestring.executors.base import check_init
from shoestring.executors.pool import Gone, Order, PoolSession
from shoestring.executors.threads import share_of_cores, thread_variables
from shoestring.executors.worker_process import Setup, setup_for
from shoestring.objectives.checks import is_stateless


@dataclass(frozen=True)
class Processes:
    """Run trials in ``workers`` processes.

    ``alive`` is how many trials, the running one included, each process holds in memory. Each process has one of the
    ``devices``, as ``trial.device``; with ``gpus`` it also sees no other one (CUDA_VISIBLE_DEVICES). If there are more
    processes than devices, they share them in turn. Each process computes with ``threads`` threads; by default with
    what OMP_NUM_THREADS says, or with its share of the cores. ``init`` is called once in each process, before its
    first trial.
    """

    workers: int = 2
    alive: int = 16
    devices: Sequence[Any] | None = None
    gpus: Sequence[int | str] | None = None
    threads: int | None = None
    init: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        check_whole(self, workers=1, alive=1, threads=1)
        check_init(self.init)
        if self.devices is not None and self.gpus is not None:
            raise MethodError("gpus and devices are both given; gpus= hides the other GPUs from a process, so give one")
        for name in ("devices", "gpus"):
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise MethodError(
                    f"{name} is {given!r}; it must be a list with one entry for each device, such as [0, 1]"
                )
            object.__setattr__(self, name, tuple(given))
        for gpu in self.gpus or ():
            if not isinstance(gpu, (int, str)) or isinstance(gpu, bool) or gpu == "":
                raise MethodError(f"gpus is {list(self.gpus or ())}; a GPU is a number or a name, such as [0, 1]")

    def open(self, objective: Any, directory: Path) -> PoolSession:
        if sys.platform == "win32":
            raise MethodError(
                "worker processes need Linux or macOS; on Windows leave workers= out, run the script inside WSL, or "
                "use a pool: executor=ss.executors.Futures(concurrent.futures.ProcessPoolExecutor(4), slots=4)"
            )
        threads = thread_variables(self.threads, share_of_cores(self.workers))
        pool = _ProcessPool(self, setup_for(objective, directory, threads, self.init))
        session = PoolSession(pool, self.workers, self.alive, directory, is_stateless(objective))
        # All at once and before anything is granted: the time of loading is not charged to the budget.
        session.load(self.workers)
        return session


class _ProcessPool:
    def __init__(self, options: Processes, setup: Setup) -> None:
        self._options = options
        self._setup = setup

    def spawn(self, number: int) -> _Process:
        devices = self._options.gpus or self._options.devices
        device = devices[number % len(devices)] if devices else None
        seen = {} if self._options.gpus is None else {"CUDA_VISIBLE_DEVICES": str(device)}
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            program = "from shoestring.executors.worker_process import main; main()"
            command = [sys.executable, "-c", program, str(theirs.fileno())]
            environment = {**os.environ, **self._setup.threads, **seen}
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
        with suppress(OSError):  # a dead worker is noticed when its pipe is read
            ours.send(replace(self._setup, worker=number, device=device))
        return _Process(process, ours)

    def wait(self, links: Sequence[_Process], seconds: float | None) -> list[_Process]:
        pipes: list[Any] = [link.pipe for link in links]
        answered = multiprocessing.connection.wait(pipes, seconds)
        return [link for link in links if link.pipe in answered]

    def end_all(self, links: Sequence[_Process]) -> None:
        for link in links:
            link.process.kill()
        for link in links:
            link.end()


@dataclass(eq=False)
class _Process:
    process: subprocess.Popen[bytes]
    pipe: multiprocessing.connection.Connection

    def send(self, order: Order, argument: Any) -> None:
        with suppress(OSError):  # a dead worker is noticed when its pipe is read
            self.pipe.send((order, argument))

    def receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            raise Gone(f"its process ended with code {self.process.wait()}") from None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.pipe.close()
