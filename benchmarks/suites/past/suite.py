"""Your own past, your own guess: what they save, and what they cost where they mislead.

    python benchmarks/past.py --table yahpo         # one task of 17 left out, k = 1, 3, 10, all past studies
    python benchmarks/past.py --table negated       # ten studies whose every reading has its sign changed
    python benchmarks/past.py --table misleading    # ten studies of bad configurations, and a mediocre guess
    python benchmarks/past.py --table longer        # the same without a past, with up to 20 trainings: what is saved
    python benchmarks/past.py --table guesses       # published guesses: good, medium and bad for three tasks
    python benchmarks/past.py --table peers         # Optuna and Syne Tune with ten of the same past studies
    python benchmarks/past.py --table zero-shot     # Syne Tune's ZeroShotTransfer with these, which takes long
    python benchmarks/past.py --table guess-peers   # NePS's PriorBand with the published guesses
    python benchmarks/past.py --table lcbench       # recorded tables, any configuration trained as the nearest row
    python benchmarks/past.py --table other-family  # text models of taskset with a past of MLPs
    python benchmarks/past.py --table black-boxes   # fcnet and hpobench_mlp, one value for each configuration
    python benchmarks/past.py --figure saved        # the budget that is saved, by the number of past studies
    python benchmarks/past.py --quick --json

One worker. A seed draws six tasks; the past of each is finished studies of other tasks of its family, by the default
method, each with a seed of its own. Errors are over seeds. With SHOESTRING_RUNS=FILE finished runs are kept.
"""

from __future__ import annotations

from benchmarks.harness.common import main
from benchmarks.suites.past import figures, tables

TABLES = {
    "yahpo": tables.yahpo,
    "negated": tables.negated,
    "misleading": tables.misleading,
    "longer": tables.longer,
    "guesses": tables.guesses,
    "peers": tables.transfer_peers,
    "zero-shot": tables.zero_shot,
    "guess-peers": tables.guess_peers,
    "lcbench": tables.lcbench,
    "other-family": tables.other_family,
    "black-boxes": tables.black_boxes,
}
FIGURES = {"saved": figures.saved}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=8, quick_seeds=1)
