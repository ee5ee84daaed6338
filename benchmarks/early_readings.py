"""Early readings must earn their trust: a smooth surrogate and crossing curves, next to other libraries.

See suites/early_readings/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.early_readings.suite import run

    run()
