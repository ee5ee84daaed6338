"""Bayesian optimisation with a Gaussian process.

Jones, Schonlau and Welch, Efficient global optimization of expensive black-box functions, 1998; Snoek,
Larochelle and Adams, Practical Bayesian optimization of machine learning algorithms, NeurIPS 2012. The
ordered axes are bent as the losses ask for (``models/warping.py``).

What is running counts as if it had given what the process expects of it (a fantasy: Ginsbourger, Le Riche
and Carraro's kriging believer), which leaves the mean and takes the uncertainty away, so that proposals
spread. What failed counts as bad as the worst, also when the kernel's parameters are learned.

The kernel's parameters are learned when the arms have grown by a share; in between, new arms extend the
factor of the covariance. Arms are taken in the order in which they became known, so that the same factor
is found whether it was kept or is made again from the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.models.maximise import climbed, snapped
from shoestring.models.threads import one_thread
from shoestring.samplers.candidates import around, embedding, first_free, latin, open_points
from shoestring.samplers.simple import first_design, random_config
from shoestring.samplers.training import TRANSFORMS, Training, scaled, thinned, training

if TYPE_CHECKING:
    from shoestring.models.gaussian_process import Process

Array = NDArray[np.float64]

# Known without loading the models.
ACQUISITION_NAMES = ("log-ei", "ei", "pi", "ucb")
# The kernel's parameters are learned from at most so many arms.
_MOST_LEARNED_FROM = 200
# Of those at the last refit the process keeps at most so many.
_MOST_KNOWN = 500
# The best is looked for among so many with the lowest losses.
_MOST_LEADERS = 50
# How many of the best candidates are climbed from.
_CLIMBERS = 4


@dataclass(frozen=True)
class GaussianProcess:
    """Propose the maximum of an acquisition, "log-ei", "ei", "pi" or "ucb", under a Gaussian process.

    The first ``startup`` arms are a Latin hypercube. The acquisition is looked at in ``candidates`` points of a
    Latin hypercube and as many near the best arms, and climbed from the best of them. ``transform`` is what is
    done to the losses first: "none", "tame" or "rank"; with ``warp`` the process may bend the ordered axes. Every
    second proposal has to promise more than the best by ``reach`` standard deviations of the (transformed) losses:
    a run that has converged in a valley would spend the rest of its budget there.
    """

    startup: int = 8
    acquisition: str = "log-ei"
    candidates: int = 200
    transform: str = "tame"
    warp: bool = True
    reach: float = 0.05
    reference: ClassVar[str] = "Snoek, Larochelle and Adams, Practical Bayesian optimization, NeurIPS 2012"

    def __post_init__(self) -> None:
        check_model_options(self.startup, self.acquisition, self.transform, self.reach)
        if not isinstance(self.candidates, int) or self.candidates < 1:
            raise MethodError(f"candidates is {self.candidates!r}; it is a whole number from 1")

    @one_thread()
    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        if len(history.arms) < self.startup:
            return first_design(history, rng, self.startup)
        known = training(history, max(self.startup, 3))
        if known is None:
            return Proposal(random_config(history, rng), "random, too few arms can be compared")
        view = View(history, known, self.transform, self.acquisition, self.warp, reach_now(history, self.reach))
        points = self._candidates(view, rng)
        scores = view.score(points)
        chosen = first_free(points, (-scores).argsort(kind="stable"), history)
        if chosen is None:
            return Proposal(random_config(history, rng), "random, every candidate was tried before")
        reason = f"the highest {self.acquisition} under a Gaussian process of {len(known.points)} arms"
        explanation = {"step": known.step, "known": len(known.points), "score": round(float(scores[chosen]), 6)}
        return Proposal(history.codec.decode(points[chosen]), reason, explanation)

    def _candidates(self, view: View, rng: np.random.Generator) -> Array:
        rows = open_points(view.history, rng)
        if rows is not None:
            return rows
        return view.searched(np.vstack([self._spread(view, rng), view.near_best(rng, self.candidates)]))

    def _spread(self, view: View, rng: np.random.Generator) -> Array:
        codec = view.history.codec
        return snapped(latin(rng, self.candidates, codec.dimensions), codec)


def reach_now(history: History, reach: float) -> float:
    """What the next proposal has to promise beyond the best: every second one ``reach``, the others nothing."""
    return 0.0 if len(history.arms) % 2 else reach


def check_model_options(startup: object, acquisition: str, transform: str, reach: object) -> None:
    if not isinstance(startup, int) or startup < 2:
        raise MethodError(f"startup is {startup!r}; it is how many arms come before the model, a whole number from 2")
    if acquisition not in ACQUISITION_NAMES:
        raise MethodError(f"acquisition is {acquisition!r}; it is {', '.join(map(repr, ACQUISITION_NAMES))}")
    if transform not in TRANSFORMS:
        raise MethodError(f"transform is {transform!r}; it is {', '.join(map(repr, TRANSFORMS))}")
    if not isinstance(reach, (int, float)) or not 0 <= reach < float("inf"):
        raise MethodError(f"reach is {reach!r}; it is a number of standard deviations from 0")


class View:
    """A Gaussian process of what is known, what failed and what is running, and what it makes of points.

    Only what is better than the best by ``reach`` counts as better.
    """

    def __init__(
        self, history: History, known: Training, transform: str, acquisition: str, warp: bool, reach: float = 0.0
    ) -> None:
        from shoestring.models.acquisition import ACQUISITIONS

        self.history, self.known = history, known
        self.embed = embedding(history)
        self._acquire = ACQUISITIONS[acquisition]
        self.y = scaled(known.losses, transform)
        self.process = self._process(transform, warp)
        # The best by what the process believes, not by its reading, which may have been lucky.
        mean, _ = self.predict(known.points[ascending(known.losses)[:_MOST_LEADERS]])
        self.best = float(mean.min()) - reach

    def _process(self, transform: str, warp: bool) -> Process:
        """The process of the arms at the last refit, extended by all that came since (one block, always)."""
        known, history = self.known, self.history
        n, f = refit_size(len(known.points)), refit_size(len(known.failed))
        first = thinned(known.losses[:n], _MOST_KNOWN)
        failed = known.failed[: min(f, _MOST_KNOWN)]
        losses, worst = known.losses[first], np.full(len(known.failed), self.y.max())
        points = np.vstack([known.points[first], failed])
        base = _cached_base(history, points, np.append(losses, np.full(len(failed), losses.max())), transform, warp)
        later = self.embed(np.vstack([known.points[n:], known.failed[f:]]))
        y = np.concatenate([self.y[first], worst[: len(failed)], self.y[n:], worst[f:]])
        process = base.extended(later, y)
        if not len(known.pending):
            return process
        pending = self.embed(known.pending)
        expected, _ = process.predict(pending)
        return process.extended(pending, np.concatenate([process.y, expected]))

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at points. Shape (m, d) to (m,) and (m,)."""
        return self.process.predict(self.embed(points))

    def score(self, points: Array) -> Array:
        """The acquisition at points. Shape (m, d) to (m,)."""
        return self._acquire(*self.predict(points), self.best)[0]

    def slope(self, points: Array) -> tuple[Array, Array]:
        """The acquisition and its gradient on the ordered axes. Shape (m, d) to (m,) and (m, d)."""
        mean, sd, mean_slope, sd_slope = self.process.predict_with_gradient(self.embed(points))
        value, by_mean, by_sd = self._acquire(mean, sd, self.best)
        columns = by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope
        gradient = np.zeros(points.shape)
        gradient[:, self.embed.choices == 0] = columns[:, self.embed.ordered]
        return value, gradient

    def near_best(self, rng: np.random.Generator, m: int, top: int = 5) -> Array:
        codec = self.history.codec
        best = self.known.points[ascending(self.known.losses)[:top]]
        return snapped(around(best, rng, m, codec), codec)

    def searched(self, points: Array) -> Array:
        """The points, and those that climbing from the best of them leads to."""
        top = ascending(-self.score(points))[:_CLIMBERS]
        return np.vstack([climbed(points[top], self.history.codec, self.score, self.slope), points])


def ascending(values: Array) -> NDArray[np.int64]:
    """The order of the values, ties by place."""
    return np.argsort(values, kind="stable")


def refit_size(n: int) -> int:
    """How many of n arms the parameters rest on: all up to 20, then every fifth, later every twentieth part.

    >>> [refit_size(n) for n in (7, 23, 100, 119, 333, 999)]
    [7, 20, 100, 115, 330, 960]
    """
    if n <= 20:
        return n
    every = 5
    while n >= 40 * every:
        every *= 2
    return n - n % every


def _cached_base(history: History, points: Array, losses: Array, transform: str, warp: bool) -> Process:
    """Kept by what it was made of, the last one only; so it cannot differ from one made anew."""
    key = blake2b(points.tobytes() + losses.tobytes(), digest_size=16).digest()
    kept: dict[bytes, Process] = history.cached(("gaussian process", transform, warp), dict)
    if key not in kept:
        kept.clear()
        kept[key] = _base(history, points, losses, transform, warp)
    return kept[key]


def _base(history: History, points: Array, losses: Array, transform: str, warp: bool) -> Process:
    from shoestring.models.gaussian_process import Process, learned

    embed = embedding(history)
    Z, y = embed(points), scaled(losses, transform)
    chosen = thinned(y, _MOST_LEARNED_FROM)
    bent = embed.ordered if warp else embed.ordered[:0]
    return Process.given(Z, y, embed.axis, learned(Z[chosen], y[chosen], embed.axis, bent))
