"""In users' hands: every default, our other methods and Optuna through the public API, with equal budgets.

See suites/defaults/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.defaults.suite import run

    run()
