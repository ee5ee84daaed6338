"""Bayesian optimisation on the freeze-thaw belief: every configuration is trained to its end.

The baseline "GP-EI" of Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019: expected
improvement (Snoek, Larochelle and Adams, NeurIPS 2012) of the last reading, without early stopping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoestring.core.decisions import Decision
from shoestring.methods.beliefs import BeliefBasedMethod, Posterior
from shoestring.methods.learning_curves import expected_improvement


@dataclass(frozen=True)
class BayesianOptimization(BeliefBasedMethod):
    """Train the configuration with the largest expected improvement of its last reading to its end.

    The first ``startup`` configurations are random, because the belief extrapolates too boldly from a single one.

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
    trains_fully: ClassVar[bool] = True
    reference: ClassVar[str] = (
        "Snoek, Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, NeurIPS 2012"
    )

    def choose(self, posterior: Posterior, rng: np.random.Generator) -> Decision:
        unfinished = [column for column in posterior.arm_at if posterior.trainable[column]]
        if unfinished:
            return posterior.grant(unfinished[0], "it was cut short before its end")
        if len(posterior.history.arms) < self.startup:
            return posterior.grant_at_random(rng, f"one of the first {self.startup} configurations, drawn at random")
        arms = np.flatnonzero(posterior.trainable)
        mean = posterior.means[arms, -1]
        deviation = np.sqrt(posterior.belief.variances(arms, np.full(len(arms), len(posterior.steps))))
        # Before the first reading the incumbent is missing: then any outcome is an improvement.
        best = posterior.incumbent if posterior.incumbent < np.inf else float(mean.max())
        chosen = int(arms[int(np.argmax(expected_improvement(mean, deviation, best)))])
        expected = posterior.in_users_units(float(posterior.means[chosen, -1]))
        reason = (
            f"a new configuration that should end at {expected} has the largest expected improvement "
            f"on {posterior.in_users_units(best)}"
        )
        return posterior.grant(chosen, reason)
