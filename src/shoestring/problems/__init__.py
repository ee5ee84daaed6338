"""Problems with a known optimum, for simulation, benchmarks and teaching.

A problem knows its ``space``, ``mode``, ``max_resource`` and ``best`` attainable value, gives the
``reading(config, step, seed)`` of any step and its length ``seconds(config, step, seed)`` on the
virtual clock, and is itself an objective: ``problem(trial)``. All are functions of their arguments
alone, so a reading is the same on every executor, in any order and after any crash.
"""

from shoestring.problems.contest import Contest, contest_score, random_reference
from shoestring.problems.curves import CurveTable
from shoestring.problems.grids import GridTable
from shoestring.problems.synthetic import Synthetic, WithCurves

__all__ = ["Contest", "CurveTable", "GridTable", "Synthetic", "WithCurves", "contest_score", "random_reference"]
