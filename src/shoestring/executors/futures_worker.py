"""One grant in a worker of a pool of futures: it advances the trial, and its reports are files that the study reads."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoestring.core.readings import Reading, check_reading
from shoestring.core.remarks import Remarks
from shoestring.core.workers import ticks
from shoestring.errors import StorageError
from shoestring.executors.threads import PoolThreads
from shoestring.executors.worker_process import Setup, WorkerTrials
from shoestring.objectives.failures import error_line
from shoestring.objectives.job import Job, Report

# Seconds between two looks for the acknowledgement of a report, and without a sign of the study before a call ends.
_LOOK, _SILENCE = 0.005, 60.0

# The pickled objective that this process has read last, by its digest.
_LOADED: dict[bytes, bytes] = {}


@dataclass(frozen=True)
class Letters:
    """A folder through which a call and the study exchange values as JSON. A file is there whole or not at all."""

    folder: Path

    def write(self, name: str, value: object) -> None:
        temporary = self.folder / f"{name}.{os.getpid()}"
        try:
            temporary.write_text(json.dumps(value))
            temporary.replace(self.folder / name)
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be written: {error}") from error

    def read(self, name: str) -> Any:
        """The value of a file, or None if it is not there."""
        try:
            return json.loads((self.folder / name).read_text())
        except FileNotFoundError:
            return None

    def write_report(self, report: Report) -> None:
        fields = report._asdict()
        if isinstance(report.reading, Reading):
            reading = report.reading
            fields["reading"] = {name: getattr(reading, name) for name in ("value", "low", "high", "cost")}
            fields["metrics"] = dict(reading.metrics)
        self.write(f"report-{report.step}", fields)

    def read_report(self, step: int) -> Report | None:
        fields = self.read(f"report-{step}")
        if fields is None:
            return None
        metrics = fields.pop("metrics", {})
        if fields["reading"] is not None:
            fields["reading"] = check_reading(Reading(**fields["reading"], **metrics))
        if fields["remarks"] is not None:
            fields["remarks"] = Remarks(*fields["remarks"])
        return Report(**fields)


def run_grant(setup: Setup, job: Job, folder: Path, threads: PoolThreads) -> str:
    """Run a grant to its end. The answer is why it could not be started, or empty."""
    letters = Letters(folder)
    if not folder.is_dir():
        return (
            f"does not see {folder}: use a storage on a file system that all workers share, such as "
            "storage='sqlite:////shared/study.db'"
        )
    if letters.read(
        "began"
    ):  # Dask starts a call again whose worker was lost; the study does so itself, and charges it
        raise StorageError("its worker was lost, and the pool has started the call again")
    threads.limit()
    try:
        trials = WorkerTrials(replace(setup, objective=_objective(setup.objective, folder.parent)))
    except BaseException as error:
        return f"could not load the objective: {error_line(error)}"
    letters.write("began", True)
    try:
        _advance(trials, job, letters)
    finally:
        trials.drop(job.trial)
    return ""


def _advance(trials: WorkerTrials, job: Job, letters: Letters) -> None:
    """Run step after step, each when the one before is in the log."""
    while True:
        report = trials.step(job)
        over = report.completes(job)
        letters.write_report(report._replace(held=False))
        if over or not _is_logged(letters, report.step):
            return
        job = job._replace(start=report.step, known=report.step)


def _is_logged(letters: Letters, step: int) -> bool:
    """Wait until a reading is in the log; False if the trial has to stop, or the study's process has died."""
    sign, seen = None, ticks()
    study = Letters(letters.folder.parent)
    while not letters.read(f"logged-{step}"):
        now = study.read("alive")
        if now != sign:
            sign, seen = now, ticks()
        if now is None or letters.read("stop") or ticks() - seen > _SILENCE:
            return False
        time.sleep(_LOOK)
    return not letters.read("stop")


def _objective(digest: bytes, folder: Path) -> bytes:
    """Read the pickled objective of a study; anything but the bytes that were sent is refused before it is loaded."""
    if digest not in _LOADED:
        pickled = (folder / "objective").read_bytes()
        if hashlib.sha256(pickled).digest() != digest:
            raise StorageError(f"{folder / 'objective'} is not the file that the study has written")
        _LOADED.clear()
        _LOADED[digest] = pickled
    return _LOADED[digest]
