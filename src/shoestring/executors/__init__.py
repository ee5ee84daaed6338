"""Where trials run: in this process, in spawned ones, or on a virtual clock."""

from shoestring.executors.base import Executor, Job, Report, Session, Trial
from shoestring.executors.inline import Inline
from shoestring.executors.processes import Processes
from shoestring.executors.simulated import Simulated

__all__ = ["Executor", "Inline", "Job", "Processes", "Report", "Session", "Simulated", "Trial"]
