"""Pruning by forecast in an Optuna study, next to the pruners of Optuna.

See suites/pruning/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.pruning.suite import run

    run()
