"""Several objectives and constraints: hypervolume and regret, next to Optuna.

See suites/objectives/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.objectives.suite import run

    run()
