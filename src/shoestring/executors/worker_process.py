"""A worker process: takes jobs from its parent, advances trials, reports each step.

It waits for the parent's word after every report, so that no step is taken whose predecessor is not
in the log. If the parent dies, a second thread notices and ends the process at once.
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
from shoestring.executors.base import Job, Report, Stepper, told
from shoestring.executors.checkpoints import files_of
from shoestring.executors.loading import load_file


@dataclass(frozen=True)
class Setup:
    """What a worker needs to begin: the files to load, and the objective that refers to them."""

    files: tuple[tuple[str, str, str], ...]
    path: tuple[str, ...]
    objective: bytes
    directory: Path
    remembers_nothing: bool


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    parent: Connection = Connection(int(sys.argv[1]))
    inbox: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(parent, inbox), daemon=True).start()
    setup: Setup = inbox.get()[1]
    try:
        objective = _objective(setup)
    except BaseException as error:
        parent.send(("broken", told(error)))
        return
    parent.send(("ready", os.getpid()))
    _serve(parent, inbox, objective, setup.directory)


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


def _serve(parent: Connection, inbox: queue.Queue[Any], objective: Any, directory: Path) -> None:
    alive: dict[int, Stepper] = {}

    def order() -> tuple[str, Any]:
        """The parent's next word; what it wants forgotten is forgotten on the way."""
        while True:
            word, what = inbox.get()
            if word != "forget":
                return word, what
            stepper = alive.pop(what, None)
            if stepper is not None:
                stepper.stop()

    while True:
        job: Job = order()[1]
        if job.trial not in alive or alive[job.trial].step != job.start:
            files = files_of(directory, job.trial)
            files.restore(job.start)
            alive[job.trial] = Stepper(objective, job, files)
        stepper = alive[job.trial]
        stepper.job = job
        while True:
            report = _checked(stepper.advance())
            parent.send(("report", report))
            halted = order()[0] == "halt" or report.how != "reading"
            if halted:
                alive.pop(job.trial).stop()
            if halted or report.step >= job.until:
                break


def _checked(report: Report) -> Report:
    """A reading as plain numbers: what an objective yields may not survive the way to the parent."""
    if report.how != "reading":
        return report
    try:
        return report._replace(reading=checked_reading(report.reading))
    except ReadingError as error:
        return report._replace(how="failed", reading=None, message=str(error))
