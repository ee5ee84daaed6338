"""Tuning under a budget constraint: the figures of the paper, and recorded learning curves.

See suites/budgeted_tuning/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.budgeted_tuning.suite import run

    run()
