"""The cost of parallelism: quality and CPU time with 1, 8 and 32 virtual workers, decisions with up to 1,000, and Ray.

See suites/parallel/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.parallel.suite import run

    run()
