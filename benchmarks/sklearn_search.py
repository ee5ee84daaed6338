"""BudgetSearchCV next to scikit-learn's searches at equal total resource, on bundled data sets.

See suites/sklearn_search/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.sklearn_search.suite import run

    run()
