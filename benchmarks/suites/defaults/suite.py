"""In users' hands: every default, our other methods and Optuna through the public API, with equal budgets.

    python benchmarks/defaults.py --table curves          # recorded curves as continuous problems
    python benchmarks/defaults.py --table smooth          # functions with learning curves, honest and misleading
    python benchmarks/defaults.py --table rows            # recorded curves with rows as arms
    python benchmarks/defaults.py --table variants        # the default with other scores of the losses
    python benchmarks/defaults.py --table rules           # the default next to its earlier rules
    python benchmarks/defaults.py --table whole           # the default with and without whole trainings
    python benchmarks/defaults.py --table workers         # the default and asha with 1, 8 and 32 workers
    python benchmarks/defaults.py --table trainings       # real trainings, with validation and test values
    python benchmarks/defaults.py --table trainings-now   # the same with the default as it is now, and fewer others
    python benchmarks/defaults.py --table recommendation  # which reading to recommend, by test values
    python benchmarks/defaults.py --table retraining      # what is recommended, trained again
    python benchmarks/defaults.py --table black-boxes     # objectives that return one number
    python benchmarks/defaults.py --table noisy           # the same with noise in each reading, 40 seeds
    python benchmarks/defaults.py --table failures        # parts of the space fail
    python benchmarks/defaults.py --table demo            # the network of `shoestring demo`
    python benchmarks/defaults.py --quick --json

One worker. A budget of N trainings is N times the most steps of a trial, and a step that fails is paid for. Recorded
data are looked for in the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE finished runs are kept (kept.py). The peers
need Optuna; its GP needs torch, and is left out without it.
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.defaults import black_boxes, demo, noisy, recommendation, tables, training_tables, variants

TABLES = {
    "curves": tables.curves,
    "smooth": tables.smooth,
    "rows": tables.rows,
    "variants": variants.table,
    "rules": variants.rules,
    "whole": variants.whole,
    "workers": variants.workers,
    "trainings": training_tables.trainings,
    "trainings-now": training_tables.trainings_now,
    "recommendation": recommendation.table,
    "retraining": recommendation.retraining,
    "black-boxes": black_boxes.table,
    "noisy": noisy.table,
    "failures": tables.failures,
    "demo": demo.table,
}


def run() -> None:
    main(__doc__, TABLES, seeds=10, quick_seeds=1)
