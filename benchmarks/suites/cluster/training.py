"""The process that faults happen to: `shoestring worker` with a short lease.

    python benchmarks/suites/cluster/training.py STORAGE FILES [--slots N]

Its training is that of ``harness/victim.py``: files that are a step ahead of the log or behind it show in the
readings.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness.victim import train  # noqa: F401

LEASE = 2.0

if __name__ == "__main__":
    from shoestring.cli import main
    from shoestring.core import heartbeats

    heartbeats.BEAT, heartbeats.LEASE, heartbeats.WATCH = LEASE / 5, LEASE, LEASE / 2
    storage, files, *options = sys.argv[1:]
    place = f"{__file__}:train"
    main(["worker", storage, "cluster", place, "--files", files, "--retries", "1000", "--quiet", *options])
