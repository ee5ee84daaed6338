"""Executors: where trials run (in this process, in spawned ones, or on a virtual clock)."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.executors.base import (
        Executor as Executor,
        Job as Job,
        Report as Report,
        Session as Session,
        Trial as Trial,
    )
    from shoestring.executors.inline import Inline as Inline
    from shoestring.executors.processes import Processes as Processes
    from shoestring.executors.simulated import Simulated as Simulated

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": "Executor Job Report Session Trial",
        "inline": "Inline",
        "processes": "Processes",
        "simulated": "Simulated",
    },
)
