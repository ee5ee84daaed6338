"""A thousand virtual workers run ASHA over 100,000 steps, with the laws checked at every event.

See suites/simulation/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.simulation.suite import run

    run()
