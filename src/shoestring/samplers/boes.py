"""BOES: candidates from several samplers, ranked by several models (Algorithms 4 and 5 of chapter 4).

=====================  =====================================================================
num_tpe, num_cma,      ``tpe``, ``cma``, ``latin``: how many candidates each sampler gives
num_latin
s1, s2                 the Parzen estimator; the normal distribution around the best arms
EM, θ                  the ensemble, and one model of it
PI(x | θ)              the acquisition; ranked by z = (best − mean)/sd, as Φ(z) saturates
freq(x)                how many models have x as their first
=====================  =====================================================================

Differs from the thesis in how the models' opinions are joined: four models mostly vote for four different
candidates, so their ranks of all candidates are added up instead (``combine="ranks"``; "votes" is the
thesis's rule, ties by the sum of ranks). And in ``reach``: a run that has converged in a valley would spend
the rest of its budget on improvements in the tenth digit, so every second suggestion has to promise more. The
default goes further in other things too: see :class:`BOES`. The thesis's own is :meth:`BOES.thesis`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.models.maximise import snapped
from shoestring.models.threads import one_thread
from shoestring.samplers.candidates import around, first_free, latin, open_points, uniform
from shoestring.samplers.cmaes import drawn_around_best
from shoestring.samplers.gp import View, ascending, check_model_options, reach_now
from shoestring.samplers.simple import first_design, random_config
from shoestring.samplers.tpe import TPE
from shoestring.samplers.training import Training, scaled, thinned, training

Array = NDArray[np.float64]

SOURCES = ("tpe", "cma", "latin", "random", "local")
MODELS = ("gp", "et", "rf", "gbt")
# Forests are fitted to at most so many arms.
_MOST_FITTED = 400


@dataclass(frozen=True)
class BOES:
    """Propose the candidate that the models of an ensemble agree on.

    Candidates: ``tpe`` points from the density of the good arms, ``cma`` from a normal distribution around the
    best, ``latin`` of a Latin hypercube, ``random`` by the space's priors, ``local`` near the best arms, and
    with ``climb`` those that the Gaussian process's acquisition leads to from the best of all these. 0 leaves a
    source out. ``models`` are "gp", "et", "rf" and "gbt", each with its weight in ``weights`` (1 if left out);
    ``acquisition`` scores the candidates for each, and ``combine`` joins the scores: "ranks" or "votes". Every
    second suggestion is scored by what it promises beyond the best by ``reach``, in standard deviations of the
    (transformed) losses; 0 for none. With ``warp`` the process may bend the ordered axes.
    """

    startup: int = 5
    tpe: int = 24
    cma: int = 24
    latin: int = 48
    random: int = 0
    local: int = 24
    climb: bool = True
    models: tuple[str, ...] = ("gp", "et")
    weights: tuple[float, ...] = ()
    acquisition: str = "log-ei"
    combine: str = "ranks"
    reach: float = 0.05
    transform: str = "tame"
    warp: bool = True
    reference: ClassVar[str] = "chapter 4 of the thesis on BDA and BOES, 2022"

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        object.__setattr__(self, "weights", tuple(self.weights))
        check_model_options(self.startup, self.acquisition, self.transform, self.reach)
        for source in SOURCES:
            count = getattr(self, source)
            if not isinstance(count, int) or count < 0:
                raise MethodError(f"{source} is {count!r}; it is how many candidates, a whole number, 0 for none")
        if not any(getattr(self, source) for source in SOURCES):
            raise MethodError(f"no source gives candidates: set one of {', '.join(SOURCES)} above 0")
        if not self.models or any(model not in MODELS or self.models.count(model) > 1 for model in self.models):
            raise MethodError(f"models is {self.models!r}; it is a tuple with some of {', '.join(MODELS)}, each once")
        if self.weights and (len(self.weights) != len(self.models) or min(self.weights) <= 0):
            raise MethodError(f"weights is {self.weights!r}; give one above 0 for each of {', '.join(self.models)}")
        if self.combine not in ("ranks", "votes"):
            raise MethodError(f"combine is {self.combine!r}; it is 'ranks' or 'votes'")

    @classmethod
    def thesis(cls, **changes: Any) -> BOES:
        """The algorithm as published: three samplers, four models, PI, max-voting."""
        given = {"local": 0, "climb": False, "models": MODELS, "acquisition": "pi", "combine": "votes"}
        return cls(**{**given, "reach": 0.0, "transform": "none", "warp": False, **changes})

    @one_thread()
    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        if len(history.arms) < self.startup:
            return first_design(history, rng, self.startup)
        known = training(history, self.startup)
        if known is None:
            return Proposal(random_config(history, rng), "random, too few arms can be compared")
        reach = reach_now(history, self.reach)
        processed = "gp" in self.models or self.climb
        view = View(history, known, self.transform, "log-ei", self.warp, reach) if processed else None
        points, sources = self._candidates(history, known, view, rng)
        scores = self._scores(history, known, view, points, reach)
        order, votes = self._ranked(scores)
        chosen = first_free(points, order, history)
        if chosen is None:
            return Proposal(random_config(history, rng), "random, every candidate was tried before")
        ranks = {model: int((values > values[chosen]).sum()) + 1 for model, values in scores.items()}
        reason = f"proposed by {sources[chosen]}, {votes.get(chosen, 0)} of {len(scores)} models have it first"
        explanation = {"step": known.step, "source": sources[chosen], "ranks": ranks}
        explanation |= {"candidates": len(points), "reach": reach}
        return Proposal(history.codec.decode(points[chosen]), reason, explanation)

    def _candidates(
        self, history: History, known: Training, view: View | None, rng: np.random.Generator
    ) -> tuple[Array, list[str]]:
        """Algorithm 5, line 1: points (m, d) and where each is from."""
        rows = open_points(history, rng)
        if rows is not None:
            return rows, ["table"] * len(rows)
        codec = history.codec
        drawn: dict[str, Array] = {}
        if self.tpe:
            drawn["tpe"] = TPE(startup=self.startup).drawn(history, rng, self.tpe)
        if self.cma:
            drawn["cma"] = drawn_around_best(codec.choices, known.points, known.losses, rng, self.cma)
        if self.latin:
            drawn["latin"] = latin(rng, self.latin, codec.dimensions)
        if self.random:
            drawn["random"] = uniform(history, rng, self.random)
        if self.local:
            drawn["local"] = around(known.points[ascending(known.losses)[:5]], rng, self.local, codec)
        points = snapped(np.vstack(list(drawn.values())), codec)
        sources = [source for source, given in drawn.items() for _ in given]
        if not self.climb or view is None:
            return points, sources
        searched = view.searched(points)
        return searched, ["climb"] * (len(searched) - len(points)) + sources

    def _scores(
        self, history: History, known: Training, view: View | None, points: Array, reach: float
    ) -> dict[str, Array]:
        """Algorithm 5, lines 3 and 4: what each model makes of each candidate. Shapes (m,)."""
        from shoestring.models.acquisition import ACQUISITIONS
        from shoestring.samplers.candidates import embedding

        acquire, Z = ACQUISITIONS[self.acquisition], embedding(history)(points)
        scores = {}
        for model in self.models:
            if model == "gp":
                assert view is not None
                scores[model] = acquire(*view.predict(points), view.best)[0]
            else:
                fitted, best = _forest(model, history, known, self.transform)
                mean, sd = fitted.predict(Z)
                scores[model] = acquire(mean, sd, best - reach)[0]
        return scores

    def _ranked(self, scores: dict[str, Array]) -> tuple[NDArray[np.int64], dict[int, int]]:
        """The candidates from best to worst (Algorithm 5, line 5), and how many models have one first."""
        from scipy.stats import rankdata

        total = np.average([rankdata(-values) for values in scores.values()], axis=0, weights=self.weights or None)
        votes = Counter(int(values.argmax()) for values in scores.values())
        if self.combine == "ranks":
            return ascending(total), votes
        counts = np.array([votes.get(i, 0) for i in range(len(total))])
        return np.lexsort((total, -counts)), votes


def _forest(model: str, history: History, known: Training, transform: str) -> tuple[Any, float]:
    """A fitted forest and the best value in its scale; kept by what it was made of."""

    from shoestring.core.randomness import generator
    from shoestring.models.forests import forest
    from shoestring.samplers.candidates import embedding

    y = scaled(known.losses, transform)
    points = np.vstack([known.points, known.failed])
    y = np.concatenate([y, np.full(len(known.failed), y.max())])
    key = blake2b(points.tobytes() + y.tobytes(), digest_size=16).digest()
    kept: dict[bytes, Any] = history.cached(("forest", model), dict)
    if key not in kept:
        kept.clear()
        rng = generator(history.seed, len(y), f"forest {model}")  # by the arms that there are, not by the asking
        chosen = thinned(y, _MOST_FITTED)
        kept[key] = forest(model, embedding(history)(points[chosen]), y[chosen], rng)
    return kept[key], float(y.min())
