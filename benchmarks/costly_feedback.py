"""Online tuning with costly feedback: Tables A1 and A2, Figures 1 and A3 of Wang et al. (2020, 2021).

See suites/costly_feedback/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.costly_feedback.suite import run

    run()
