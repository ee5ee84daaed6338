"""Executors: where trials run (in this process, in spawned ones, or on a virtual clock)."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.executors.base import Executor, Job, Report, Session, Trial
    from shoestring.executors.inline import Inline
    from shoestring.executors.processes import Processes
    from shoestring.executors.simulated import Simulated

__all__ = ["Executor", "Inline", "Job", "Processes", "Report", "Session", "Simulated", "Trial"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Executor", "Job", "Report", "Session", "Trial"), "base"),
        "Inline": "inline",
        "Processes": "processes",
        "Simulated": "simulated",
    },
)
