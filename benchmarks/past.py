"""Your own past, your own guess: what they save, and what they cost where they mislead.

See suites/past/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.past.suite import run

    run()
