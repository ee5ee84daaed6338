"""The program of a Ray actor: a worker that advances trials step by step, on some node of a cluster.

If the node sees the folder of the study, trials work there. Otherwise they work in a temporary folder of the node, and
their snapshots travel through Ray's object store: with the answer to the process of the study, which stores them, and
with the order to a worker that resumes the trial.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from shoestring.executors.threads import limit_threads
from shoestring.executors.worker_process import Setup, WorkerTrials
from shoestring.objectives.failures import error_line
from shoestring.objectives.folders import fingerprint, is_folder, pack, remove_quietly
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial_files import TrialFiles, files_of

# A report, and the files of the trial after its step, if they changed and have to travel.
Answer = tuple[Report, bytes | None]


@dataclass(frozen=True)
class RaySession:
    """One run on a cluster: its name, and the folder of the study, in which a file of this name is a mark.

    A node that finds the mark sees the folder. Without ``may_share``, none is asked.
    """

    name: str
    directory: Path
    may_share: bool

    def mark(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / self.name).touch()

    def unmark(self) -> None:
        (self.directory / self.name).unlink(missing_ok=True)
        with suppress(OSError):  # it is not empty
            self.directory.rmdir()

    def is_shared(self) -> bool:
        return self.may_share and (self.directory / self.name).exists()


def delete_folder(name: str) -> None:
    """Delete what the workers of a session left on a node."""
    remove_quietly(_local(name))


def _local(name: str) -> Path:
    return Path(tempfile.gettempdir()) / name


class ShoestringWorker:
    def __init__(self, setup: Setup, number: int, session: RaySession) -> None:
        self._setup = replace(setup, worker=number, device=_gpu())
        self._session = session
        self._travels = not session.is_shared()
        self._sent: dict[int, object] = {}  # for each trial here, the state of its files that was sent last

    def load(self) -> tuple[str, bool]:
        """Return why the objective cannot be loaded, empty if it can; and whether files have to travel."""
        if self._travels:
            self._setup = replace(self._setup, directory=_local(self._session.name) / str(os.getpid()))
        limit_threads(self._setup.threads)
        try:
            self._trials = WorkerTrials(self._setup)
        except BaseException as error:
            return error_line(error), self._travels
        return "", self._travels

    def step(self, job: Job, archive: bytes | None) -> Answer:
        """Run the next step of a job; ``archive`` has the files to resume from, if this node does not have them."""
        files = files_of(self._setup.directory, job.trial, job.holders)
        if archive is not None:
            files.add(job.start, archive)
        report = self._trials.step(job)
        archive = self._changed_files(files, report) if self._travels else None
        if not report.held:
            self._forget(job.trial)
        return report, archive

    def _changed_files(self, files: TrialFiles, report: Report) -> bytes | None:
        folder = files.snapshot_of(report.step) if report.how == "reading" else files.latest(0)
        if report.how not in ("reading", "finished") or not is_folder(folder):
            return None
        state = fingerprint(folder)
        if not state or state == self._sent.get(report.trial):
            return None
        archive, self._sent[report.trial] = pack(folder), state
        if report.how == "reading":
            remove_quietly(folder)  # the process of the study stores it
        return archive

    def drop(self, trial: int) -> None:
        self._trials.drop(trial)
        self._forget(trial)

    def _forget(self, trial: int) -> None:
        self._sent.pop(trial, None)
        if self._travels:
            files_of(self._setup.directory, trial).rewind(0)


def _gpu() -> int | str | None:
    """The GPU that Ray gave to this worker; it sees no other one."""
    import ray

    found = ray.get_gpu_ids()
    return found[0] if found else None
