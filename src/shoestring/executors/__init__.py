"""Executors: where trials run (in this process, in spawned ones, on a Ray cluster, in any pool, or on a virtual clock).

``ss.tune(..., workers=4)`` is ``executor=ss.executors.Processes(4)``. For an executor of your own, a ``Job`` is a
grant: its ``trial`` and ``arm``, the ``replicate``, the ``config`` and the ``seed``. A ``Report`` says of a ``trial``
and a ``step`` ``how`` it went, with the ``reading`` or a ``message``, and the ``seconds`` that it took.
"""

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
    from shoestring.executors.futures import Futures as Futures
    from shoestring.executors.inline import Inline as Inline
    from shoestring.executors.processes import Processes as Processes
    from shoestring.executors.ray import Ray as Ray
    from shoestring.executors.simulated import Simulated as Simulated

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": "Executor Job Report Session Trial",
        "futures": "Futures",
        "inline": "Inline",
        "processes": "Processes",
        "ray": "Ray",
        "simulated": "Simulated",
    },
)
