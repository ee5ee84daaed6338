"""BOES (Lu, thesis, University of Alberta, 2021, chapter 4): Tables 4.1 and 4.2, peers, and the cost of a decision.

    python benchmarks/batch_optimisation.py --table 4.1        # the suite of 34 tasks; hours at 20 seeds
    python benchmarks/batch_optimisation.py --figure columns   # the same as a bar chart
    python benchmarks/batch_optimisation.py --table tasks      # the main columns and Optuna's by task
    python benchmarks/batch_optimisation.py --table 4.2        # the simulated final round, 60 seeds; also 4.2-published
    python benchmarks/batch_optimisation.py --table 4.2-all    # the same on the whole suite, 3 seeds (25 minutes)
    python benchmarks/batch_optimisation.py --table hebo       # HEBO; SHOESTRING_HEBO names a Python that has it
    python benchmarks/batch_optimisation.py --table peers      # Optuna's TPE and CMA-ES
    python benchmarks/batch_optimisation.py --table peers-gp   # Optuna's GP too, 3 seeds
    python benchmarks/batch_optimisation.py --table variants   # of the default, on selection tasks
    python benchmarks/batch_optimisation.py --table cost
    python benchmarks/batch_optimisation.py --quick --json

The tables are looked for in the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE finished runs are kept (kept.py).
The peers need Optuna.
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.batch_optimisation import columns, cost, final, peers

TABLES = {
    "4.1": columns.table_4_1,
    "tasks": columns.by_task,
    "4.2": final.table_4_2,
    "4.2-published": final.table_4_2_published,
    "4.2-all": final.table_4_2_all,
    "hebo": peers.hebo,
    "peers": columns.peers,
    "peers-gp": columns.peers_gp,
    "variants": columns.variants,
    "cost": cost.cost,
}


def run() -> None:
    main(__doc__, TABLES, {"columns": columns.figure}, seeds=0, quick_seeds=1)
