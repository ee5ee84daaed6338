"""Bayesian optimisation with a Gaussian process.

Jones, Schonlau and Welch, Efficient global optimization of expensive black-box functions, 1998; Snoek,
Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, NeurIPS 2012. The
ordered axes are warped (``models/warping.py``).

Running trials are imputed with the posterior mean (the kriging believer of Ginsbourger, Le Riche and Carraro, 2010):
that does not change the mean and removes the uncertainty. They count when the incumbent is chosen; otherwise the best
of them would promise the same improvement again, and a batch would be one configuration several times.

Where parts of the space fail, the process of the living arms is of no use: the failures lie beyond them, and far from
all arms a process returns to its prior mean, the average loss. So once an arm has failed,

1. failed arms are imputed with the worst observed loss, and enter the fit of the kernel's parameters with it;
2. that loss is the prior mean, so what is far from all living arms is expected to be as bad;
3. the candidates are ordered by the sum of two ranks, by the acquisition under the process and under extremely
   randomised trees, which see a border where the process sees a slope.

On a plateau, where at least half of the arms share the best loss (the accuracy of always predicting the larger class),
the process is of little use too: it takes the function to vary alike everywhere, and fills the plateau evenly, however
flat. The trees are certain within it and uncertain along its border, where losses differ. So every second proposal is
ordered by both ranks; the others fill the plateau, because what is better may be inside.

On a grid, the maximum of the acquisition is often a configuration that was tried, most of all where readings are
noisy. Such a point has no score, so that the search ends at the best one that is free.

Where the learned noise is large, readings are lucky or unlucky. What counts then is the posterior mean: the incumbent
is the tried point where it is lowest, and a candidate is worth what its reading is expected to take off that (the
knowledge gradient of Scott, Frazier and Powell, 2011, over the tried points). Expected improvement would ignore that a
reading next to the incumbent tells more about it, and climbing it ends on the bounds, where the process knows least; so
the candidates climb to where the mean is low. The axes are not warped and the losses not tamed: the shapes would fit
the noise, and taming makes the noise of bad readings smaller than the noise of good ones.

The process also learns as noise what the function itself does between neighbouring points, if that is rough: it takes
narrow valleys for luck. Without repeated readings the two cannot be told apart. So what is recommended is the tried
point with the lowest posterior mean where a quarter of the learned noise belongs to the function: m + (y - m)/4 for the
mean m of the smooth part and the reading y.

If even the best candidate promises next to nothing, the learned parameters are too sure of themselves: they rest on
few arms, of which many may be alike (a plateau), and fit them closely. Then the candidates are scored by a process with
the prior's parameters instead, which is never certain far from what was tried.

The kernel's parameters are refitted when the number of arms has grown by a share; in between, new arms extend the
Cholesky factor of the covariance. Arms are taken in the order in which they became known, so that the same factor is
found whether it was cached or is rebuilt from the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.core.options import check_choices, check_number, check_whole
from shoestring.core.recommendation import Advice
from shoestring.core.untried import random_config
from shoestring.core.weighing import Judges
from shoestring.models.maximise import snap
from shoestring.models.scores import loss_of_score
from shoestring.models.threads import one_thread
from shoestring.samplers.candidates import first_free, latin, open_points
from shoestring.samplers.ranking import fitted_forest, mean_ranks
from shoestring.samplers.simple import first_design
from shoestring.samplers.surrogate import AcquisitionName, Learning, Surrogate, ascending
from shoestring.samplers.training import FitAt, Liar, TrainingSet, Transform, training_set, with_lies

# A lower log expected improvement, on the scale of the transformed losses, is not to be believed.
_LEAST_PROMISE = -10.0
# Of what the process takes for noise, this share is expected to be the function, which may be rough.
_ROUGH = 0.25


@dataclass(frozen=True)
class GaussianProcess:
    """Propose the maximum of an acquisition, "log-ei", "ei", "pi" or "ucb", under a Gaussian process.

    The first ``startup`` configurations are a Latin hypercube. The acquisition is evaluated at ``candidates``
    points of a Latin hypercube and as many near the best configurations, and maximised from the best of them.
    ``transform`` is applied to the losses first: "none", "tame", "cap" or "rank"; with ``warp`` the process learns
    a warping of the ordered axes. Every second proposal maximises the improvement over the incumbent minus a
    ``margin``, in standard deviations of the transformed losses: a run that has converged in a valley would spend
    the rest of its budget there. Running configurations are imputed with the posterior mean; with ``liar`` they
    count as the "min", "mean" or "max" loss, or not at all ("ignore", for comparison).
    """

    startup: int = 8
    acquisition: AcquisitionName = "log-ei"
    candidates: int = 200
    transform: Transform = "tame"
    warp: bool = True
    margin: float = 0.05
    liar: Liar = None
    fit_at: FitAt = field(default="predictive", metadata={"before": "furthest"})
    judges: ClassVar[Judges] = "weighted"
    models_constraints: ClassVar[bool] = True
    reference: ClassVar[str] = (
        "Snoek, Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, NeurIPS 2012"
    )

    def __post_init__(self) -> None:
        check_model_options(self)
        check_whole(self, candidates=1)

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        if len(history.arms) < self.startup:
            return first_design(history, rng, self.startup)
        return self._propose_by_model(history, rng)

    @one_thread()
    def _propose_by_model(self, history: History, rng: np.random.Generator) -> Proposal:
        known = training_set(history, max(self.startup, 3), self.fit_at)
        if known is None:
            return Proposal(random_config(history, rng), "random, too few configurations can be compared")
        found = self.propose_by(history, rng, with_lies(known, self.liar))
        return found or Proposal(random_config(history, rng), "random, every candidate was tried before")

    def propose_by(self, history: History, rng: np.random.Generator, known: TrainingSet) -> Proposal | None:
        """Propose by a process that knows no more than this; None if all candidates were tried."""
        surrogate = self._surrogate(history, known)
        points, scores = self._candidates(surrogate, rng)
        if surrogate.greedy:
            scores = surrogate.rescored(points, scores)
        if self.acquisition == "log-ei" and scores.max() < _LEAST_PROMISE:
            surrogate = self._surrogate(history, known, learn="none")
            scores = surrogate.score(points)
        chosen = first_free(points, self._order(surrogate, points, scores), history)
        if chosen is None:
            return None
        goal: str = "knowledge gradient, as readings are noisy," if surrogate.greedy else self.acquisition
        goal = goal + _constraints_in_words(surrogate)
        reason = f"the highest {goal} under a Gaussian process of {len(known.points)} configurations{history.weighed}"
        if doubt := _doubt(surrogate):
            reason = f"the best sum of ranks by a Gaussian process and a forest, as {doubt}"
        reason = f"{surrogate.in_users_units(points[chosen])}: {reason}"
        explanation = {"step": known.step, "known": len(known.points), "score": round(float(scores[chosen]), 6)}
        return Proposal(history.codec.decode(points[chosen]), reason, explanation)

    @one_thread()
    def recommend(self, history: History) -> Advice | None:
        """The tried configuration that is expected to be best where single readings are noisy, None elsewhere.

        That is the posterior mean and a part of the rest of its reading (``_ROUGH``): where the function is rough, the
        process takes its valleys for luck.
        """
        known = training_set(history, max(self.startup, 3)) if (history.max_resource or 1) == 1 else None
        if known is None:
            return None
        surrogate = self._surrogate(history, replace(known, pending=known.pending[:0]))
        if not surrogate.noisy:
            return None
        mean, _ = surrogate.predict(known.points)
        expected = mean + _ROUGH * (surrogate.y - mean)
        loss = loss_of_score(float(expected.min()), known.losses, surrogate.y)
        return Advice(int(known.arms[expected.argmin()]), loss)

    def _surrogate(self, history: History, known: TrainingSet, learn: Learning = "thorough") -> Surrogate:
        margin = margin_now(history, self.margin)
        found = Surrogate(history, known, self.transform, self.acquisition, self.warp, margin, learn)
        if not found.noisy or found.feasibility is not None:
            return found
        transform = "cap" if self.transform == "tame" else self.transform
        return Surrogate(history, known, transform, self.acquisition, False, margin, learn, greedy=True)

    def _candidates(self, surrogate: Surrogate, rng: np.random.Generator) -> tuple[Array, Array]:
        """Points (m, d) and their scores (m,)."""
        rows = open_points(surrogate.history, rng)
        if rows is not None:
            return rows, surrogate.score(rows)
        return surrogate.searched(np.vstack([self._spread(surrogate, rng), surrogate.near_best(rng, self.candidates)]))

    def _order(self, surrogate: Surrogate, points: Array, scores: Array) -> Codes:
        """The candidates from best to worst: by the process, and where that is in doubt by a forest too."""
        if not _doubt(surrogate):
            return ascending(-scores)
        forest, best = fitted_forest("et", surrogate.history, surrogate.known, self.transform)
        mean, sd = forest.predict(surrogate.embed(points))
        return ascending(mean_ranks([scores, surrogate.acquire(mean, sd, best - surrogate.margin)[0]]))

    def _spread(self, surrogate: Surrogate, rng: np.random.Generator) -> Array:
        codec = surrogate.history.codec
        return snap(latin(rng, self.candidates, codec.dimensions), codec)


def margin_now(history: History, margin: float) -> float:
    """The margin of the next proposal: every second one has it, the others none."""
    return margin if _second(history) else 0.0


def _second(history: History) -> bool:
    """Return whether the next proposal is one of those that look beyond the incumbent: every second one."""
    return len(history.arms) % 2 == 0


def _constraints_in_words(surrogate: Surrogate) -> str:
    """Say in words how the acquisition uses the constraints."""
    if surrogate.feasibility is None:
        return ""
    names = " and ".join(map(str, surrogate.history.goals.constraints))
    return (
        f" times the probability of {names}" if surrogate.feasibility.known.any() else f", the probability of {names},"
    )


def _doubt(surrogate: Surrogate) -> str:
    """Return why the process alone should not decide, for people; empty if it should."""
    known = surrogate.known
    if surrogate.feasibility is not None:
        return ""
    if len(known.failed):
        return f"{len(known.failed)} have failed"
    level = int((known.losses == known.losses.min()).sum())
    if 2 * level >= len(known.losses) and _second(surrogate.history):
        return f"{level} of {len(known.losses)} share the best loss"
    return ""


def check_model_options(sampler: Any) -> None:
    check_choices(sampler)
    check_whole(sampler, "how many configurations come before the model, a whole number", startup=2)
    check_number(sampler, "margin", "a number of standard deviations from 0", 0)
