"""The number of threads that a worker computes with, so that workers on one host do not compete for the cores.

Numerical libraries start as many threads as there are cores. Threads of several workers then wait for each other, and
a training takes many times as long. The libraries read the limit from the environment when they are loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from shoestring.core.workers import place

VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "TF_NUM_INTRAOP_THREADS", "LOKY_MAX_CPU_COUNT",
)  # fmt: skip


def share_of_cores(workers: int) -> int:
    """The cores that this process may use, divided among workers; at least one."""
    import joblib  # heavy; it knows the limits of containers

    return max(1, int(joblib.cpu_count()) // workers)


def thread_variables(threads: int | None, share: int) -> dict[str, str]:
    """Set the number of threads in a worker's environment: ``threads``, else the user's setting, else its share."""
    if threads is not None:
        return dict.fromkeys(VARIABLES, str(threads))
    given = os.environ.get("OMP_NUM_THREADS")
    return {name: os.environ.get(name) or given or str(share) for name in VARIABLES}


def limit_threads(variables: Mapping[str, str]) -> None:
    """Apply a limit inside a worker that was started without it: to what is loaded already, and to what will be."""
    from threadpoolctl import threadpool_limits  # heavy: it looks at all libraries of the process

    os.environ.update(variables)
    count = variables["OMP_NUM_THREADS"].partition(",")[0]  # OpenMP takes one number for each level of nesting
    if not count.isdecimal():
        return
    threadpool_limits(int(count))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(count))


@dataclass(frozen=True)
class PoolThreads:
    """Set the threads of workers of another pool: ``threads``, or else their share of the cores of one host.

    ``place`` and ``process`` belong to the study. A worker elsewhere has ``threads`` or no limit, because how many
    others share its host is not known here. The process of the study is never limited.
    """

    threads: int | None
    share: int
    place: str
    process: int

    def limit(self) -> None:
        """Limit this process, if it is a worker."""
        here = place() == self.place
        if (here and os.getpid() == self.process) or not (here or self.threads):
            return
        _limit_once(self.threads, self.share)


@cache
def _limit_once(threads: int | None, share: int) -> None:
    limit_threads(thread_variables(threads, share))


def pool_threads(threads: int | None, workers: int) -> PoolThreads:
    """The threads of ``workers`` of a pool that works for this process."""
    return PoolThreads(threads, share_of_cores(workers), place(), os.getpid())
