"""A Gaussian process of what is known of a study, and the acquisition under it.

What it does where trials failed, readings are noisy or losses are level is explained in ``gp.py``, whose model it is.
"""

from __future__ import annotations

import math
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.history import History
from shoestring.core.observations import observe
from shoestring.models.acquisition import ACQUISITIONS, log_knowledge_gradient, upper_confidence_bound
from shoestring.models.maximise import climb, snap
from shoestring.models.scores import loss_of_score
from shoestring.samplers.candidates import around, embedding
from shoestring.samplers.feasibility import Feasibility, known_levels
from shoestring.samplers.training import TrainingSet, Transform, refit_size, scaled, thinned

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
# Readings are noisy if the noise has a larger standard deviation, in standard deviations of the transformed losses.
_NOISY = 0.1


class Surrogate:
    """A Gaussian process fitted to what is known, failed and running, and the acquisition under it.

    Improvement counts from the incumbent minus ``margin``. The kernel's parameters are
    learned, at length or in a quarter of the time, or with "none" those of the prior.
    ``feasibility`` is that of the known points; without it, where there are constraints, it is fitted to their levels.
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
        feasibility: Feasibility | None = None,
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
        self.feasibility = feasibility
        if feasibility is None and history.goals.constraints:
            self.feasibility = Feasibility(history, known.points, known_levels(history, known))
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
