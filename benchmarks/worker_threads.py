"""Threads of workers: seconds of four workers on one host against one, for three libraries.

See suites/worker_threads/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.worker_threads.suite import run

    run()
