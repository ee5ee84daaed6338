"""Tuning under a budget constraint: the figures of the paper, and recorded learning curves.

    python benchmarks/budgeted_tuning.py --figure 1a --seeds 100
    python benchmarks/budgeted_tuning.py --table curves --seeds 10    # hours
    python benchmarks/budgeted_tuning.py --table curves-paper --seeds 1   # Q as printed, independent configurations
    python benchmarks/budgeted_tuning.py --figure 3
    python benchmarks/budgeted_tuning.py --table q                    # Equation 8 as printed, and as shipped
    python benchmarks/budgeted_tuning.py --table limits               # the limits of section 3.3
    python benchmarks/budgeted_tuning.py --table smac --seeds 10      # SHOESTRING_SMAC names a Python that has SMAC3

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019. The recorded curves are looked for in
the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE their finished runs are kept (kept.py).
"""

from benchmarks.harness.common import main
from benchmarks.suites.budgeted_tuning import curves, families, paper_setting, peers, pools, published_q, synthetic

TABLES = {
    "cost": synthetic.cost,
    "forecast-cost": synthetic.forecast_cost,
    "limits": published_q.limits,
    "q": published_q.table,
    "smac": peers.smac,
    "trap": synthetic.trap,
    "curves": curves.table,
    "curves-paper": paper_setting.table,
}
FIGURES = {
    "1a": synthetic.figure_1a,
    "1b": synthetic.figure_1b,
    "1c": synthetic.figure_1c,
    "2": pools.figure,
    "3": families.figure,
    "5a": synthetic.figure_5a,
    "5b": synthetic.figure_5b,
}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=60, quick_seeds=1)
