"""Early readings must earn their trust: a smooth surrogate and crossing curves, next to other libraries.

    python benchmarks/early_readings.py --table epochs      # YAHPO's LCBench, budgets in epochs, 8 seeds; hours
    python benchmarks/early_readings.py --table seconds     # the same with budgets in seconds
    python benchmarks/early_readings.py --table prices      # in seconds, and the default blind to what steps cost
    python benchmarks/early_readings.py --table crossing    # a large learning rate learns fast and ends worse, 20 seeds
    python benchmarks/early_readings.py --table reference   # what regrets are measured by; minutes
    python benchmarks/early_readings.py --figure regret     # the tables of both units as curves; also ranks and orders
    python benchmarks/early_readings.py --quick --json

One worker. The surrogate is looked for in the folder SHOESTRING_DATA, ``yahpo_lcbench``, and needs ``onnxruntime``;
without them its tables are skipped. How the peers are installed is in peers.py; those that are not there are left out.
With SHOESTRING_RUNS=FILE finished runs are kept (kept.py), and runs of the peers even when our code changes.
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.early_readings import comparison, crossing, orders, prices
from benchmarks.tasks import yahpo_lcbench

TABLES = {
    "reference": yahpo_lcbench.reference,  # first, as the regrets of the others are measured by it
    "epochs": comparison.epochs,
    "seconds": comparison.seconds,
    "prices": prices.table,
    "crossing": crossing.table,
}
FIGURES = {"regret": comparison.figure_regret, "ranks": comparison.figure_ranks, "orders": orders.figure}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=8, quick_seeds=1)
