"""Bayesian optimisation on the freeze-thaw belief: every arm is trained to its end.

The baseline "GP-EI" of Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019:
expected improvement (Snoek, Larochelle and Adams, NeurIPS 2012) of the last reading, with no early stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.core.history import History
from shoestring.methods.beliefs import Now, OnBelief
from shoestring.methods.learning_curves import expected_improvement


@dataclass(frozen=True)
class BayesianOptimization(OnBelief):
    """Begin the arm whose last reading is expected to improve most on the best one, and train it to its end.

    The first ``startup`` arms are random: a belief that has seen one arm thinks all others near it good.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 5):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> method = ss.methods.BayesianOptimization()
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="40 steps", max_resource=4, method=method)
    >>> len(study.trials), study.best.value < 0.3
    (10, True)
    """

    startup: int = 5
    name: ClassVar[str] = "bayesian optimization"
    counts: ClassVar[tuple[str, ...]] = (*OnBelief.counts, "startup")
    reference: ClassVar[str] = (
        "Snoek, Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, NeurIPS 2012"
    )

    def choose(self, now: Now, history: History, rng: np.random.Generator) -> Decision:
        last = len(now.steps)
        begun = [column for column in now.arm_at if now.open[column]]
        if begun:
            return now.trained(begun[0], "it was cut short before its end", last)
        if len(history.arms) < self.startup:
            return now.at_random(rng, "one of the first arms, at random", last)
        arms = np.flatnonzero(now.open)
        mean = now.means[arms, -1]
        deviation = np.sqrt(now.belief.variances(arms, np.full(len(arms), last)))
        # Nothing was read yet where all that was begun is still running: then any is better than none.
        best = now.in_hand if len(now.scores) else float(mean.max())
        chosen = int(arms[int(np.argmax(expected_improvement(mean, deviation, best)))])
        expected = now.in_words(float(now.means[chosen, -1]))
        reason = f"a new arm that should end at {expected} promises the most improvement on {now.in_words(best)}"
        return now.trained(chosen, reason, last)
