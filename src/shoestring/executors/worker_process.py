"""The program of a worker process: it advances trials step by step, as its parent orders.

The parent orders a step when the previous reading is in the log. If the parent dies, a second thread notices it and
ends the process at once.
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
from shoestring.executors.base import Report
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
        parent.send(error_line(error))
        return
    parent.send("")  # ready
    while True:
        order, argument = inbox.get()
        if order == "drop":
            held.drop(argument)
        else:
            report = _checked(held.stepper(argument).advance())
            if report.how != "reading":
                held.drop(report.trial)
            parent.send(report)


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


def _checked(report: Report) -> Report:
    """The report with a reading of plain numbers: not everything that an objective yields can be pickled."""
    if report.how != "reading":
        return report
    try:
        return report._replace(reading=checked_reading(report.reading))
    except ReadingError as error:
        return report._replace(how="failed", reading=None, message=str(error))
