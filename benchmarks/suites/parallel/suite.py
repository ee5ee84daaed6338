"""The cost of parallelism: quality and CPU time with 1, 8 and 32 virtual workers, decisions with up to 1,000, and Ray.

    python benchmarks/parallel.py                       # all tables
    python benchmarks/parallel.py --table quality --seeds 3
    python benchmarks/parallel.py --quick --json

The table "ray" needs ``pip install 'ray[tune]'``.
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.parallel.decisions import decisions, disorder
from benchmarks.suites.parallel.quality import quality
from benchmarks.suites.parallel.ray_cluster import ray

TABLES = {"quality": quality, "decisions": decisions, "disorder": disorder, "ray": ray}


def run() -> None:
    main(__doc__, TABLES, seeds=3, quick_seeds=1)
