"""Faults of all kinds at random moments, and what a study makes of them.

See suites/chaos/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.chaos.suite import run

    run()
