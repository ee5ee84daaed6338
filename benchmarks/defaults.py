"""In users' hands: every default, our other methods and Optuna through the public API, with equal budgets.

    python benchmarks/defaults.py --table curves          # recorded curves as continuous problems
    python benchmarks/defaults.py --table smooth          # functions with learning curves, honest and misleading
    python benchmarks/defaults.py --table rows            # recorded curves with rows as arms
    python benchmarks/defaults.py --table trainings       # real trainings, with validation and test values
    python benchmarks/defaults.py --table recommendation  # which reading to recommend, by test values
    python benchmarks/defaults.py --table black-boxes     # objectives that return one number
    python benchmarks/defaults.py --table failures        # parts of the space fail
    python benchmarks/defaults.py --quick --json

One worker. A budget of N trainings is N times the most steps of a trial, and a step that fails is paid for. Recorded
data are looked for in the folder SHOESTRING_DATA. With SHOESTRING_RUNS=FILE finished runs are kept (kept.py). The peers
need Optuna, and its GP needs torch.
"""

from __future__ import annotations

from importlib import import_module

from common import Options, main
from measurements import Row


def _part(module: str, name: str):
    """A table whose module is imported when it is asked for, as each needs other libraries."""

    def table(options: Options) -> list[Row]:
        return getattr(import_module(f"defaults_parts.{module}"), name)(options)

    table.__doc__ = name
    return table


TABLES = {
    "curves": _part("tables", "curves"),
    "smooth": _part("tables", "smooth"),
    "rows": _part("tables", "rows"),
    "trainings": _part("training_tables", "trainings"),
    "recommendation": _part("training_tables", "recommendation"),
    "black-boxes": _part("black_boxes", "table"),
    "failures": _part("tables", "failures"),
}

if __name__ == "__main__":
    main(__doc__, TABLES, seeds=10, quick_seeds=1)
