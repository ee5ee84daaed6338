"""What parallelism costs: quality and CPU time with 1, 8 and 32 virtual workers, decisions with up to 1,000, and Ray.

    python benchmarks/parallel.py                       # all tables
    python benchmarks/parallel.py --table quality --seeds 3
    python benchmarks/parallel.py --quick --json

The table "ray" needs ``pip install 'ray[tune]'``.
"""

from __future__ import annotations

from common import main
from parallel_parts.decisions import decisions, disorder
from parallel_parts.quality import quality
from parallel_parts.ray_cluster import ray

TABLES = {"quality": quality, "decisions": decisions, "disorder": disorder, "ray": ray}

if __name__ == "__main__":
    main(__doc__, TABLES, seeds=3, quick_seeds=1)
