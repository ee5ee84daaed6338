"""The program of a worker process: it takes jobs from its parent, advances trials and reports each step.

After every report it waits until the parent lets it continue, so that no step starts before the previous reading is
in the log. If the parent dies, a second thread notices it and ends the process at once.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shoestring.core.readings import checked_reading
from shoestring.errors import ObjectiveError, ReadingError
from shoestring.executors.base import Job, Report
from shoestring.executors.loading import load_file
from shoestring.executors.stepper import HeldTrials, error_line


@dataclass(frozen=True)
class Setup:
    """What a worker needs to start: the files to load, and the pickled objective that refers to them."""

    files: tuple[tuple[str, str, str], ...]
    path: tuple[str, ...]
    objective: bytes
    directory: Path


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    parent: Connection = Connection(int(sys.argv[1]))
    inbox: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(parent, inbox), daemon=True).start()
    setup: Setup = inbox.get()[1]
    try:
        held = HeldTrials(_objective(setup), setup.directory)
    except BaseException as error:
        parent.send(("broken", error_line(error)))
        return
    parent.send(("ready", os.getpid()))
    while True:
        _run(_next_order(inbox, held)[1], parent, inbox, held)


def _listen(parent: Connection, inbox: queue.Queue[Any]) -> None:
    while True:
        try:
            inbox.put(parent.recv())
        except (EOFError, OSError):
            os._exit(1)


def _objective(setup: Setup) -> Any:
    sys.path[:] = list(dict.fromkeys([*setup.path, *sys.path]))
    for name, path, package in setup.files:
        load_file(Path(path), name, package)
    try:
        return pickle.loads(setup.objective)
    except AttributeError as error:
        raise ObjectiveError(
            f"{error}; a worker loads the file up to its first call of tune, so define the objective before that, "
            'or put the calls of tune under `if __name__ == "__main__":`'
        ) from None


def _next_order(inbox: queue.Queue[Any], held: HeldTrials) -> tuple[str, Any]:
    """The parent's next order, "run", "go" or "halt"; an order to drop a trial is obeyed here."""
    while True:
        order, argument = inbox.get()
        if order != "drop":
            return order, argument
        held.drop(argument)


def _run(job: Job, parent: Connection, inbox: queue.Queue[Any], held: HeldTrials) -> None:
    stepper = held.stepper(job)
    while True:
        report = _checked(stepper.advance())
        parent.send(("report", report))
        halted = _next_order(inbox, held)[0] == "halt" or report.how != "reading"
        if halted:
            held.drop(job.trial)
        if halted or report.completes(job):
            return


def _checked(report: Report) -> Report:
    """The report with a reading of plain numbers: not everything that an objective yields can be pickled."""
    if report.how != "reading":
        return report
    try:
        return report._replace(reading=checked_reading(report.reading))
    except ReadingError as error:
        return report._replace(how="failed", reading=None, message=str(error))
