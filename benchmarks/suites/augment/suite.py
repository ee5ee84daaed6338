"""Data augmentation search (Lu, thesis, University of Alberta, 2021, chapter 3) at a small scale.

    python benchmarks/augment.py --table 3.1        # CIFAR-10 and baselines; also 3.6
    python benchmarks/augment.py --table 3.1-by-search   # errors by search; also architecture, fresh, 3.5, 3.7
    python benchmarks/augment.py --table estimate   # the shrunk estimate and the mean; also simulated
    python benchmarks/augment.py --table tuning     # Huang et al., Table 2; also tuning-fashion, and --figure 5
    python benchmarks/augment.py --table speed      # also identity
    python benchmarks/augment.py --figure 2         # the heat map; 2-both: of two data sets; in benchmarks/figures/
    python benchmarks/augment.py --quick --json

--seeds is the number of searches (3); each has three trainings, or one where errors are by search. Images are read from
the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE finished searches and trainings are kept (kept.py). Needs torch,
Pillow and matplotlib.
"""

from __future__ import annotations

import sys

from benchmarks.harness.common import main

try:
    from benchmarks.suites.augment import by_search, speed, tables, tuning
except ModuleNotFoundError as why:
    print(f"augment.py is skipped: {why}", file=sys.stderr)
    sys.exit("--quick" not in sys.argv)

TABLES = {
    "3.1": tables.table_3_1,
    "3.1-by-search": by_search.table,
    "architecture": by_search.architecture,
    "fresh": by_search.table_fresh,
    "3.5": by_search.table_3_5,
    "3.6": tables.table_3_6,
    "3.7": by_search.table_3_7,
    "tuning": tuning.table_cifar10,
    "tuning-fashion": tuning.table_fashion,
    "estimate": tables.table_estimate,
    "simulated": speed.table_simulated,
    "speed": speed.table_speed,
    "identity": speed.table_identity,
}
FIGURES = {"2": tables.figure_2, "2-both": tables.figure_2_both, "5": tuning.figure_5}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=3, quick_seeds=1)
