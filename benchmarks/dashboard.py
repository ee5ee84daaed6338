"""The dashboard next to optuna-dashboard: a study of 10,000 trials in SQLite, opened in Chromium.

See suites/dashboard/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.dashboard.suite import run

    run()
