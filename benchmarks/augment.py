"""Data augmentation search (Lu, thesis, University of Alberta, 2021, chapter 3) at a small scale.

See suites/augment/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.augment.suite import run

    run()
