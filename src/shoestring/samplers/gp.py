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

import math
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.core.observations import observe
from shoestring.core.options import check_choices, check_number, check_whole
from shoestring.core.recommendation import Advice
from shoestring.core.untried import random_config
from shoestring.core.weighing import Judges
from shoestring.models.acquisition import ACQUISITIONS, log_knowledge_gradient, upper_confidence_bound
from shoestring.models.maximise import climb, snap
from shoestring.models.scores import loss_of_score
from shoestring.models.threads import one_thread
from shoestring.samplers.candidates import around, embedding, first_free, latin, open_points
from shoestring.samplers.feasibility import Feasibility
from shoestring.samplers.ranking import fitted_forest, mean_ranks
from shoestring.samplers.simple import first_design
from shoestring.samplers.training import (
    FitAt,
    Liar,
    TrainingSet,
    Transform,
    refit_size,
    scaled,
    thinned,
    training_set,
    with_lies,
)

if TYPE_CHECKING:
    from shoestring.models.gaussian_process import Process


AcquisitionName = Literal["log-ei", "ei", "pi", "ucb"]
Learning = Literal["thorough", "quick", "none"]
# The kernel's parameters are learned from at most this many arms.
_MOST_LEARNED_FROM = 200
# Of the arms at the last refit the process keeps at most this many.
_MOST_KNOWN = 500
# The best is looked for among this many with the lowest losses.
_MOST_LEADERS = 50
# How many of the best candidates are climbed from.
_CLIMBERS = 4
# Points are the same if they agree to this many digits.
_DIGITS = 9
# A lower log expected improvement, on the scale of the transformed losses, is not to be believed.
_LEAST_PROMISE = -10.0
# Readings are noisy if the noise has a larger standard deviation, in standard deviations of the transformed losses.
_NOISY = 0.1
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


class Surrogate:
    """A Gaussian process fitted to what is known, failed and running, and the acquisition under it.

    Improvement counts from the incumbent minus ``margin``. The kernel's parameters are
    learned, at length or in a quarter of the time, or with "none" those of the prior.
    With ``greedy``, where readings are noisy, "log-ei" gives way to the lowest mean, for candidates to be rescored.
    """

    def __init__(
        self,
        history: History,
        known: TrainingSet,
        transform: Transform,
        acquisition: AcquisitionName,
        warp: bool,
        margin: float = 0.0,
        learn: Learning = "thorough",
        greedy: bool = False,
    ) -> None:
        self.history, self.known, self.margin = history, known, margin
        self.embed = embedding(history)
        self.acquire = ACQUISITIONS[acquisition]
        self.y = scaled(known.losses, transform)
        if len(known.failed):
            # The prior mean is 0, so this makes it the worst loss; predictions and the incumbent shift with it.
            self.y = self.y - self.y.max()
        self.process = self._process(transform, warp, learn)
        self.greedy = greedy and self.noisy and acquisition == "log-ei"
        if self.greedy:
            self.acquire = partial(upper_confidence_bound, width=0.0)
        self.feasibility = Feasibility(history, known) if history.goals.constraints else None
        # Only on a grid can a candidate be one that was tried.
        taken = observe(history).points if history.codec.cells.all() else known.points[:0]
        self._tried = {row.tobytes() for row in taken.round(_DIGITS)}
        # The incumbent by the posterior mean, not by its reading, which may have been lucky.
        leaders, pending = self._leaders(), known.pending
        if self.feasibility is not None and len(pending):
            pending = pending[self.feasibility.is_likely(self.embed(pending))]
        self.best = math.inf  # as long as nothing is feasible
        if len(leaders) or len(pending):
            self.best = float(self.predict(np.vstack([leaders, pending]))[0].min()) - margin

    def _leaders(self) -> Array:
        """The known points with the lowest losses that are feasible. Shape (l, d)."""
        order = ascending(self.known.losses)
        if self.feasibility is not None:
            order = order[self.feasibility.known[order]]
        return self.known.points[order[:_MOST_LEADERS]]

    def _process(self, transform: Transform, warp: bool, learn: Learning) -> Process:
        """The process of the arms at the last refit, extended by all that came since (one block, always)."""
        known, history = self.known, self.history
        n, f = refit_size(len(known.points)), refit_size(len(known.failed))
        first = thinned(known.losses[:n], _MOST_KNOWN)
        failed = known.failed[: min(f, _MOST_KNOWN)]
        losses, worst = known.losses[first], np.full(len(known.failed), self.y.max())
        points = np.vstack([known.points[first], failed])
        losses = np.append(losses, np.full(len(failed), losses.max()))
        base = _cached_base(history, points, losses, transform, warp, learn)
        later = self.embed(np.vstack([known.points[n:], known.failed[f:]]))
        y = np.concatenate([self.y[first], worst[: len(failed)], self.y[n:], worst[f:]])
        process = base.extended(later, y)
        if not len(known.pending):
            return process
        pending = self.embed(known.pending)
        expected, _ = process.predict(pending)
        return process.extended(pending, np.concatenate([process.y, expected]))

    @property
    def noisy(self) -> bool:
        """Return whether single readings are noisy, by the learned noise; unknown, so False, where borders look like
        noise.
        """
        return not len(self.known.failed) and math.sqrt(self.process.parameters.noise) > _NOISY

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at points. Shape (m, d) to (m,) and (m,)."""
        return self.process.predict(self.embed(points))

    def in_users_units(self, point: Array) -> str:
        """Convert the prediction at a point into the user's units; predictions reach no further than the observed
        losses.
        """
        mean, losses, sign = float(self.predict(point[None])[0][0]), self.known.losses, self.history.sign
        better = " or better" if mean < self.y.min() else ""
        predicted = sign * loss_of_score(mean, losses, self.y)
        return f"predicted {predicted:.4g}{better} (best so far {sign * losses.min():.4g})"

    def score(self, points: Array) -> Array:
        """The acquisition at points. Shape (m, d) to (m,)."""
        if self.feasibility is not None:
            return self.feasibility.score(self.process, self.best, self.embed(points))
        return self.acquire(*self.predict(points), self.best)[0]

    def rescored(self, points: Array, scores: Array) -> Array:
        """The knowledge gradient at points, and minus infinity where their scores are. Shape (m, d) to (m,)."""
        tried = np.vstack([self.known.points, self.known.pending])
        means, _ = self.predict(tried)
        leaders = ascending(means)[:_MOST_LEADERS]
        effects = self.process.effects(self.embed(points), self.embed(tried[leaders]))
        noise = self.process.parameters.noise
        gained = log_knowledge_gradient(*self.predict(points), noise, means[leaders], effects)
        return np.where(np.isfinite(scores), gained, scores)

    def slope(self, points: Array) -> tuple[Array, Array]:
        """The acquisition and its gradient on the ordered axes. Shape (m, d) to (m,) and (m, d)."""
        Z = self.embed(points)
        if self.feasibility is not None:
            value, columns = self.feasibility.slope(self.process, self.best, Z)
        else:
            mean, sd, mean_slope, sd_slope = self.process.predict_with_gradient(Z)
            value, by_mean, by_sd = self.acquire(mean, sd, self.best)
            columns = by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope
        gradient = np.zeros(points.shape)
        gradient[:, self.embed.choices == 0] = columns[:, self.embed.ordered]
        return value, gradient

    def near_best(self, rng: np.random.Generator, m: int, top: int = 5) -> Array:
        codec = self.history.codec
        losses = self.predict(self.known.points)[0] if self.noisy else self.known.losses
        if self.feasibility is not None:
            losses = self.feasibility.last(losses, self.embed(self.known.points))
        best = self.known.points[ascending(losses)[:top]]
        return snap(around(best, rng, m, codec), codec)

    def searched(self, points: Array, climbers: int = _CLIMBERS, iterations: int = 15) -> tuple[Array, Array]:
        """The points behind the local maxima that are reached from the best of them, and the scores of all.

        What was tried has no score, so that the search on a grid ends next to it.
        """
        scores = self.open_score(points)
        top = ascending(-scores)[:climbers]
        found = climb(points[top], self.history.codec, self.open_score, self.slope, iterations)
        return np.vstack([found, points]), np.concatenate([self.open_score(found), scores])

    def open_score(self, points: Array) -> Array:
        """The acquisition, and minus infinity at points that were tried. Shape (m, d) to (m,)."""
        scores = self.score(points)
        if self._tried:
            scores[[row.tobytes() in self._tried for row in points.round(_DIGITS)]] = -np.inf
        return scores


def ascending(values: Array) -> Codes:
    """The order of the values, ties by place."""
    return np.argsort(values, kind="stable")


def _cached_base(
    history: History, points: Array, losses: Array, transform: Transform, warp: bool, learn: Learning
) -> Process:
    """Cached by the content it was fitted to, the last one only; so it cannot differ from a rebuilt one."""
    key = blake2b(points.tobytes() + losses.tobytes(), digest_size=16).digest()
    kept: dict[bytes, Process] = history.cached(("gaussian process", transform, warp, learn), dict)
    if key not in kept:
        kept.clear()
        kept[key] = _base(history, points, losses, transform, warp, learn)
    return kept[key]


def _base(history: History, points: Array, losses: Array, transform: Transform, warp: bool, learn: Learning) -> Process:
    from shoestring.models.gaussian_process import Process, expected, learned

    embed = embedding(history)
    Z, y = embed(points), scaled(losses, transform)
    if learn == "none":
        return Process.given(Z, y, embed.axis, expected(embed.axis))
    chosen = thinned(y, _MOST_LEARNED_FROM)
    bent = embed.ordered if warp else embed.ordered[:0]
    return Process.given(Z, y, embed.axis, learned(Z[chosen], y[chosen], embed.axis, bent, learn == "quick"))
