"""Pruning by forecast in an Optuna study, next to the pruners of Optuna, at equal epochs.

    python benchmarks/pruning.py --table lcbench      # 23 tables of recorded curves, a configuration as the nearest row
    python benchmarks/pruning.py --table yahpo        # YAHPO's surrogate, every third task; needs onnxruntime
    python benchmarks/pruning.py --table lcbench_30   # with the epochs of 30 full trainings instead of 10; yahpo_30 too
    python benchmarks/pruning.py --quick --json

The objective, the order of reports and the end of the
budget are the same for all: ``peers/optuna_pruning.py``. ``auto`` is ``ss.tune`` without Optuna, which pauses trials
and returns to them. The data are looked for in the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE finished runs are
kept (kept.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.harness.common import Options, main
from benchmarks.harness.comparison import (
    compared,
    cost_rows,
    differences,
    mean_rows,
    rank_rows,
    regret_best,
    regret_seen,
)
from benchmarks.harness.measurements import Row
from benchmarks.harness.play import Task
from benchmarks.harness.recorded import tables
from benchmarks.tasks import yahpo_lcbench
from shoestring.problems import CurveTable

OUR_PRUNER = "Optuna TPE + our pruner"
METHODS = (
    "Optuna TPE", "Optuna TPE + median", "Optuna TPE + SHA", "Optuna TPE + Hyperband", OUR_PRUNER,
    "our sampler + our pruner", "auto",
)  # fmt: skip
TRAININGS, LONGER = 10, 30


def lcbench(options: Options, trainings: int = TRAININGS) -> list[Row]:
    """Recorded curves; their first reading, before any training, is left out."""
    paths = tables(["lcbench"])
    found = []
    for path in paths[::12] if options.quick else paths:
        table = CurveTable.load(path, skip=1, snap=True)
        name = f"lcbench/{path.stem}, continuous"
        found.append(Task(name, table.space, table.max_resource, table, table.mode, table.normalised_regret))
    return _rows(found, options, trainings)


def yahpo(options: Options, trainings: int = TRAININGS) -> list[Row]:
    """The surrogate, in which configurations that are close learn alike."""
    version = int(yahpo_lcbench.model_version(), 16)
    references = yahpo_lcbench.references()
    found = [
        Task(
            f"yahpo/{name}", yahpo_lcbench.SPACE, yahpo_lcbench.EPOCHS, yahpo_lcbench.Problem(name),
            regret=references[name].regret, version=version,
        )
        for name in yahpo_lcbench.names()[:: 12 if options.quick else 3]
    ]  # fmt: skip
    return _rows(found, options, trainings)


def lcbench_30(options: Options) -> list[Row]:
    """Recorded curves with three times the budget."""
    return lcbench(options, LONGER)


def yahpo_30(options: Options) -> list[Row]:
    """The surrogate with three times the budget."""
    return yahpo(options, LONGER)


def _rows(tasks: Sequence[Task], options: Options, trainings: int) -> list[Row]:
    found, label = compared(tasks, METHODS, options.seeds, trainings), f"{trainings} trainings"
    losses = {"regret": found.array(regret_seen), "regret of the best trial": found.array(regret_best)}
    rows = [*mean_rows(found, losses, label), *rank_rows(found, losses, label)]
    return [*rows, *differences(found, {"regret": losses["regret"]}, label, OUR_PRUNER), *cost_rows(found, label)]


TABLES = {
    "lcbench": lcbench,
    "yahpo": yahpo,
    "lcbench_30": lcbench_30,
    "yahpo_30": yahpo_30,
}


def run() -> None:
    main(__doc__, TABLES, seeds=3, quick_seeds=1)
