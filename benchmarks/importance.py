"""Importance of parameters: ours and Optuna's fANOVA on the same trials of functions with known importances.

See suites/importance/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.importance.suite import run

    run()
