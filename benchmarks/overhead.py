"""Overhead and quality of shoestring and Optuna, measured in the same run. Times are CPU times.

See suites/overhead/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.overhead.suite import run

    run()
