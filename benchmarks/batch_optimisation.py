"""BOES (Lu, thesis, University of Alberta, 2021, chapter 4): Tables 4.1 and 4.2, peers, and the cost of a decision.

See suites/batch_optimisation/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.batch_optimisation.suite import run

    run()
