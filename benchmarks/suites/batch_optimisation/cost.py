"""The CPU time of a suggestion."""

from __future__ import annotations

from benchmarks.harness.common import Options
from benchmarks.harness.decision_cost import batches
from benchmarks.harness.measurements import Row, row
from shoestring.samplers import BOES, CMAES, GaussianProcess


def cost(options: Options) -> list[Row]:
    """CPU seconds a decision, refits included; a suggestion is asked for when the one before was answered."""
    count = 4 if options.quick else 12
    boes, gp = BOES(), GaussianProcess()
    return [
        row("gp, a batch of 5 at 100 observations", batches(gp, 100, 5, count), at_most=0.15),
        row("gp, a batch of 5 at 1,000 observations", batches(gp, 1000, 5, count), at_most=0.3),
        row("gp, a suggestion at 300 observations", batches(gp, 300, 1, 5 * count), at_most=0.100),
        row("gp, a suggestion at 1,000 observations", batches(gp, 1000, 1, 5 * count)),
        row("boes, a batch of 5 at 100 observations", batches(boes, 100, 5, count), at_most=0.15),
        row("boes, a batch of 5 at 1,000 observations", batches(boes, 1000, 5, count), at_most=1.0),
        row("boes, a suggestion at 1,000 observations", batches(boes, 1000, 1, 5 * count)),
        row("thesis, a batch of 5 at 100 observations", batches(BOES.thesis(), 100, 5, count)),
        row("cmaes, a suggestion at 300 observations", batches(CMAES(), 300, 1, 5 * count), at_most=0.010),
    ]
