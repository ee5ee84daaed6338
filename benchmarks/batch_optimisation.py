"""BOES (chapter 4 of the thesis on BDA and BOES): Tables 4.1 and 4.2, against Optuna, and what it costs.

    python benchmarks/batch_optimisation.py --table 4.1        # the suite of 34 tasks; hours at 20 seeds
    python benchmarks/batch_optimisation.py --figure columns   # the same as bars, in benchmarks/figures/
    python benchmarks/batch_optimisation.py --table tasks      # its main columns and Optuna's by task
    python benchmarks/batch_optimisation.py --table 4.2        # the simulated final round, 60 seeds
    python benchmarks/batch_optimisation.py --table peers      # Optuna's TPE and CMA-ES
    python benchmarks/batch_optimisation.py --table peers-gp   # Optuna's GP too, 3 seeds
    python benchmarks/batch_optimisation.py --table variants   # of the default, on half of the tasks
    python benchmarks/batch_optimisation.py --table earlier    # the default against what it was before
    python benchmarks/batch_optimisation.py --table cost
    python benchmarks/batch_optimisation.py --quick --json

The tables are looked for in the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE every run is kept in that
file as it ends, and a second call goes on from there. Optuna has to be installed for the peers.
"""

from __future__ import annotations

from batch_optimisation_parts import columns, cost, final, pictures
from common import main

TABLES = {
    "4.1": columns.table_4_1,
    "tasks": columns.by_task,
    "4.2": final.table_4_2,
    "peers": columns.peers,
    "peers-gp": columns.peers_gp,
    "variants": columns.variants,
    "earlier": columns.earlier,
    "cost": cost.cost,
}

if __name__ == "__main__":
    main(__doc__, TABLES, {"columns": pictures.columns}, seeds=0, quick_seeds=1)
