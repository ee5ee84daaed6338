"""Sub-sampling and BOSS (Huang et al., arXiv:2007.05670): section 8.1, Figure 9, and recorded curves.

    python benchmarks/sub_sampling.py --table 1            # 500, 100 and 200 runs: 5, 1 and 2 times --seeds
    python benchmarks/sub_sampling.py --table curves       # recorded curves, 20 seeds a task; long
    python benchmarks/sub_sampling.py --table catching-up  # BOSS and BOHB alone on these, 3 seeds
    python benchmarks/sub_sampling.py --table hartmann     # 50 seeds
    python benchmarks/sub_sampling.py --table decision
    python benchmarks/sub_sampling.py --table 3            # architecture search, 20 seeds
    python benchmarks/sub_sampling.py --table 5            # PPO on CartPole, 15 seeds (50 minutes)
    python benchmarks/sub_sampling.py --table 7            # 32 virtual workers, equal duration, 10 seeds
    python benchmarks/sub_sampling.py --table accountings  # BOSS and BOHB: ten brackets, and equal steps, 60 seeds
    python benchmarks/sub_sampling.py --table brackets     # BOSS and BOHB: ten brackets, 200 seeds of their own
    python benchmarks/sub_sampling.py --table settling     # the same at σ = 3, 500 further seeds
    python benchmarks/sub_sampling.py --table liars        # the constant liar on a Gaussian process, 20 seeds
    python benchmarks/sub_sampling.py --table seeds        # networks with a new initialisation a replicate, 20 seeds
    python benchmarks/sub_sampling.py --table theorem      # Theorem 1 and Corollary 2, 40 runs
    python benchmarks/sub_sampling.py --figure 2           # also 3, 4 and 9; pictures in benchmarks/figures/
    python benchmarks/sub_sampling.py --quick --json

Without --seeds each table runs as many as the result page shows. The recorded curves are looked for in the folder
SHOESTRING_DATA. With SHOESTRING_RUNS=FILE their finished runs are kept (kept.py).
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.sub_sampling import (
    accountings,
    cartpole,
    curves,
    decisions,
    duration,
    hartmann,
    networks,
    rate,
    regret,
    seed_noise,
    table1,
    utilisation,
)

TABLES = {
    "1": table1.table,
    "3": networks.table,
    "5": cartpole.table,
    "7": duration.table,
    "accountings": accountings.table,
    "brackets": accountings.brackets,
    "settling": accountings.settling,
    "liars": duration.liars,
    "seeds": seed_noise.table,
    "theorem": rate.table,
    "curves": curves.table,
    "catching-up": curves.catching_up,
    "hartmann": hartmann.table,
    "decision": decisions.table,
}
FIGURES = {
    "2": regret.figure_2,
    "3": regret.figure_3,
    "4": regret.figure_4,
    "9": utilisation.figure_9,
}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=0, quick_seeds=0)
