"""The messages between the loop and an executor: a job to run, and a report of each of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from shoestring.core.remarks import Remarks

# The kinds of a report: a reading, or an end of the trial; "storage" is a disk that cannot be written, and ends the
# run.
Outcome = Literal["reading", "finished", "failed", "lost", "storage"]


class Job(NamedTuple):
    """A grant as an executor sees it: run a trial after step ``start`` until step ``until``.

    ``known`` is the last step whose reading is in the log, ``at`` the time of the trial's last event, ``order`` the
    position of the grant in the log, ``holders`` how often the trial went from one worker to another, and ``most`` how
    many steps a trial can have (``max_resource``; None is one step, of an objective that returns).
    """

    trial: int
    arm: int
    replicate: int
    config: Mapping[str, Any]
    seed: int
    start: int
    until: int
    known: int
    at: float = 0.0
    order: int = 0
    holders: int = 0
    most: int | None = 1


class Report(NamedTuple):
    """The result of a job: a reading at a step, or the end of the trial in that step, and how long the step took.

    ``held`` is whether the process that ran it still has the trial in memory, and ``remarks`` is what the objective
    said about the trial in this step.
    """

    trial: int
    step: int
    how: Outcome
    reading: object = None
    message: str = ""
    seconds: float = 0.0
    held: bool = True
    remarks: Remarks | None = None

    def completes(self, job: Job) -> bool:
        """Return whether nothing more of the job is due after this report."""
        return self.how != "reading" or self.step >= job.until
