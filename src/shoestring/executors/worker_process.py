"""The program of a worker process: it advances trials step by step, as its parent orders.

The parent orders a step when the previous reading is in the log. If the parent dies, a second thread notices it and
ends the process at once.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shoestring.core.readings import check_reading
from shoestring.errors import ReadingError, StorageError
from shoestring.objectives.failures import error_line
from shoestring.objectives.held_trials import HeldTrials
from shoestring.objectives.job import Job, Report
from shoestring.objectives.shipping import from_bytes, to_bytes


@dataclass(frozen=True)
class Setup:
    """Everything that a worker needs to start: the objective and ``init`` by value, and the paths of their modules."""

    objective: bytes
    path: tuple[str, ...]
    arguments: tuple[str, ...]
    directory: Path
    threads: Mapping[str, str]
    worker: int = 0
    device: Any = None


def setup_for(
    objective: Any, directory: Path, threads: Mapping[str, str], init: Callable[[], Any] | None = None
) -> Setup:
    """Collect what a worker of this process needs; ``threads`` are the variables of its environment."""
    return Setup(to_bytes(objective, init), tuple(sys.path), tuple(sys.argv), directory, threads)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    parent: Connection = Connection(int(sys.argv[1]))
    inbox: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(parent, inbox), daemon=True).start()
    setup: Setup = inbox.get()
    try:
        trials = WorkerTrials(setup)
    except BaseException as error:
        parent.send(error_line(error))
        return
    parent.send("")  # ready
    while True:
        order, argument = inbox.get()
        if order == "drop":
            trials.drop(argument)
        else:
            parent.send(trials.step(argument))


class WorkerTrials:
    """The trials of a worker: it loads the objective, advances them as ordered, and holds the paused ones."""

    def __init__(self, setup: Setup) -> None:
        self.held = HeldTrials(_objective(setup), setup.directory, worker=setup.worker, device=setup.device)

    def step(self, job: Job) -> Report:
        try:
            report = plain_report(self.held.stepper(job).advance())
        except StorageError as error:  # the parent stops the run
            report = Report(job.trial, job.known + 1, "storage", message=str(error), held=False)
        if not report.held:
            self.held.drop(report.trial)
        return report

    def drop(self, trial: int) -> None:
        self.held.drop(trial)


def _listen(parent: Connection, inbox: queue.Queue[Any]) -> None:
    while True:
        try:
            inbox.put(parent.recv())
        except (EOFError, OSError):
            os._exit(1)


def _objective(setup: Setup) -> Any:
    sys.argv[:] = setup.arguments  # for modules that read the command line when they are imported
    sys.path[:] = list(dict.fromkeys([*setup.path, *sys.path]))
    objective, init = from_bytes(setup.objective)
    if init is not None:
        init()
    return objective


def plain_report(report: Report) -> Report:
    """The report with a reading of plain numbers: not everything that an objective yields can be pickled."""
    if report.how != "reading":
        return report
    try:
        return report._replace(reading=check_reading(report.reading))
    except ReadingError as error:
        return report._replace(how="failed", reading=None, message=str(error), held=False)
