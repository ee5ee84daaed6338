"""Problems with a known optimum, for simulation, benchmarks and teaching.

A problem has a ``space``, a ``mode``, a ``max_resource`` and the ``best`` attainable value. ``reading(config, step,
seed)`` is the value at a step and ``seconds(config, step, seed)`` the duration of that step on the virtual clock. The
problem itself is an objective: ``problem(trial)``. All are functions of their arguments alone, so a reading is the
same on every executor, in any order and after any crash.

What several of them take: ``mode`` says whether "min" or "max" is better, and ``seconds`` how long each step takes.
Of a contest: ``problem``, how many ``rounds`` it has with how many ``slots`` of ``steps`` steps each, and the
``noise`` of its readings; ``results`` and ``best`` are what several tuners reached, and the best value there is. A
reference is the result of this many ``evaluations``, over ``repeats`` from a ``seed``.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.problems.contest import (
        Contest as Contest,
        contest_score as contest_score,
        random_reference as random_reference,
    )
    from shoestring.problems.curves import CurveTable as CurveTable
    from shoestring.problems.grids import GridTable as GridTable
    from shoestring.problems.synthetic import Synthetic as Synthetic, WithCurves as WithCurves

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "contest": "Contest contest_score random_reference",
        "curves": "CurveTable",
        "grids": "GridTable",
        "synthetic": "Synthetic WithCurves",
    },
)
