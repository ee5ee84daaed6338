"""Many processes, and several hosts, on one study in a PostgreSQL database.

See suites/cluster/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.cluster.suite import run

    run()
