"""Inside a job of Hydra that ``hydra/sweeper=shoestring`` has started: report each step, and save checkpoints.

Without ``--multirun`` trials do not exist: :func:`report` does nothing and :func:`current_trial` is None, so the same
program trains once, as always.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from shoestring.objectives.trial import Trial

__all__ = ["current_trial", "report"]


@dataclass
class RunningJob:
    """The trial of a job, and whether it has reported a step."""

    trial: Trial
    reports: bool = False


running: ContextVar[RunningJob | None] = ContextVar("the job that runs here", default=None)


def report(value: object, step: int | None = None, **metrics: float) -> None:
    """Report the value of a step, as :meth:`shoestring.Trial.report` does.

    Call it after each step. ``value`` is what is tuned, ``step`` a check (steps count from 1), and other names are
    metrics. At the last step that the trial is granted it ends the job; if the trial is granted more, the job is
    launched again, and continues from what it saved with ``current_trial().checkpoint``.

    >>> import shoestring as ss
    >>> ss.hydra.report(0.5)  # outside of a sweep
    """
    job = running.get()
    if job is not None:
        job.reports = True
        job.trial.report(value, step, **metrics)


def current_trial() -> Trial | None:
    """The trial of this job: its ``checkpoint``, ``start``, ``seed`` and ``directory``; None outside of a sweep.

    >>> import shoestring as ss
    >>> ss.hydra.current_trial() is None
    True
    """
    job = running.get()
    return None if job is None else job.trial
