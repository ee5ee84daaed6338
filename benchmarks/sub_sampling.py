"""Sub-sampling and BOSS (Huang et al., arXiv:2007.05670): section 8.1, Figure 9, and recorded curves.

See suites/sub_sampling/suite.py for its tables and figures.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[0] = str(Path(__file__).parents[1])
    from benchmarks.suites.sub_sampling.suite import run

    run()
