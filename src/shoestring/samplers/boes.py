"""BOES: candidates from several samplers, ranked by several models.

Lu, On applications of multi-armed bandit and Bayesian optimization approaches for AutoML problems, MSc thesis,
University of Alberta, 2021, chapter 4, Algorithms 4 and 5.

=====================  =====================================================================
num_tpe, num_cma,      how many candidates each sampler gives: ``candidates``
num_latin
s1, s2                 the Parzen estimator; the normal distribution around the best arms
EM, θ                  the ensemble, and one model of it
PI(x | θ)              the acquisition; ranked by z = (best − mean)/sd, as Φ(z) saturates
freq(x)                how many models have x as their first
=====================  =====================================================================

Differs from the thesis in how the models' opinions are combined: four models mostly vote for four different
candidates, so their ranks of all candidates are added up instead (``combine="ranks"``; "votes" is the thesis's rule,
ties by the sum of ranks). And in ``margin``: a run that has converged in a valley would spend the rest of its budget on
improvements in the tenth digit, so every second suggestion must promise more. The default differs in other things too:
see :class:`BOES`. The thesis's own is :meth:`BOES.thesis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Proposal
from shoestring.core.history import History
from shoestring.core.untried import random_config
from shoestring.errors import MethodError
from shoestring.models.acquisition import ACQUISITIONS
from shoestring.models.maximise import snap
from shoestring.models.threads import one_thread
from shoestring.samplers.candidates import around, embedding, first_free, latin, open_points, uniform
from shoestring.samplers.cmaes import draw_around_best
from shoestring.samplers.gp import check_model_options, margin_now
from shoestring.samplers.ranking import fitted_forest, mean_ranks
from shoestring.samplers.simple import first_design
from shoestring.samplers.surrogate import AcquisitionName, Surrogate, ascending
from shoestring.samplers.tpe import TPE
from shoestring.samplers.training import FitAt, TrainingSet, Transform, training_set

Source = Literal["tpe", "cma", "latin", "random", "local", "climb"]
Model = Literal["gp", "et", "rf", "gbt"]


@dataclass(frozen=True)
class BOES:
    """Propose the candidate that the models of an ensemble agree on.

    ``candidates`` says how many points each source gives: "tpe" from the density of the good configurations, "cma"
    from a normal distribution around the best, "latin" of a Latin hypercube, "random" by the space's priors, "local"
    near the best configurations; and with "climb" that many of the best of all these are improved by gradient ascent on
    the Gaussian process's acquisition. ``models`` are some of "gp", "et", "rf" and "gbt". ``acquisition`` scores the
    candidates for each, and ``combine`` joins the scores: "ranks" or "votes". ``margin``, ``transform`` and ``warp``
    are the options of :class:`~shoestring.samplers.GaussianProcess`.
    """

    startup: int = 5
    candidates: Mapping[Source, int] | tuple[tuple[Source, int], ...] = (
        ("tpe", 24),
        ("cma", 24),
        ("latin", 48),
        ("local", 24),
        ("climb", 4),
    )
    models: tuple[Model, ...] = ("gp", "et")
    acquisition: AcquisitionName = "log-ei"
    combine: Literal["ranks", "votes"] = "ranks"
    margin: float = 0.05
    transform: Transform = "tame"
    warp: bool = True
    fit_at: FitAt = field(default="predictive", metadata={"before": "furthest"})
    reference: ClassVar[str] = (
        "Lu, On applications of multi-armed bandit and Bayesian optimization approaches for AutoML problems, "
        "MSc thesis, University of Alberta, 2021, chapter 4"
    )

    def __post_init__(self) -> None:
        given, order = dict(self.candidates), list(get_args(Source))
        pairs = sorted(given.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
        object.__setattr__(self, "candidates", tuple(pairs))
        object.__setattr__(self, "models", tuple(self.models))
        check_model_options(self)
        for source, count in self._counts().items():
            if source not in get_args(Source) or not isinstance(count, int) or count < 0:
                raise MethodError(
                    f"candidates has {source!r}: {count!r}; it is how many candidates, a whole number from 0, for some "
                    f"of {', '.join(map(repr, get_args(Source)))}"
                )
        if not any(count for source, count in self._counts().items() if source != "climb"):
            raise MethodError(f"candidates is {self.candidates!r}; at least one source besides 'climb' is needed")
        known = get_args(Model)
        if not self.models or any(model not in known or self.models.count(model) > 1 for model in self.models):
            raise MethodError(
                f"models is {self.models!r}; it must be a tuple with some of {', '.join(known)}, each once"
            )

    def _counts(self) -> dict[Source, int]:
        return dict(self.candidates)

    @classmethod
    def thesis(cls, **changes: Any) -> BOES:
        """The algorithm as published: three samplers, four models, PI, max-voting.

        The thesis leaves these open, or they differ:

        * Running evaluations: the Gaussian process imputes them with its posterior mean, the Parzen estimator counts
          them among the bad ones, and the forests do not see them. The thesis only excludes repeated suggestions.
        * Incumbent: for the Gaussian process the lowest posterior mean of the evaluated and running configurations,
          for the forests the lowest loss. The thesis does not say which it uses.
        * Candidates: our :class:`~shoestring.samplers.TPE` and the normal distribution of the ``cmaes`` package,
          fitted again to the history each time; 24, 24 and 48 of them. The thesis gives neither settings nor numbers.
        * Votes: most often each model votes for another candidate; the sum of the ranks then decides. Models rank by
          z, which has the order of PI without its rounding to 1.
        * Losses are standardised, and the Gaussian process has a Matérn-5/2 kernel with a prior on its length-scales.
          Boosted trees have no variance of their own, so 8 of them are bagged.
        """
        published: dict[str, Any] = {
            "candidates": {"tpe": 24, "cma": 24, "latin": 48},
            "models": get_args(Model),
            "acquisition": "pi",
            "combine": "votes",
            "margin": 0.0,
            "transform": "none",
            "warp": False,
        }
        return cls(**{**published, **changes})

    def propose(self, history: History, rng: np.random.Generator) -> Proposal:
        if len(history.arms) < self.startup:
            return first_design(history, rng, self.startup)
        return self._propose_by_models(history, rng)

    @one_thread()
    def _propose_by_models(self, history: History, rng: np.random.Generator) -> Proposal:
        known = training_set(history, self.startup, self.fit_at)
        if known is None:
            return Proposal(random_config(history, rng), "random, too few configurations can be compared")
        margin, counts = margin_now(history, self.margin), self._counts()
        surrogate = None
        if "gp" in self.models or counts.get("climb"):
            surrogate = Surrogate(history, known, self.transform, "log-ei", self.warp, margin)
        points, sources = self._candidates(history, known, surrogate, rng)
        scores = self._scores(history, known, surrogate, points, margin)
        order, votes = self._rank(scores)
        chosen = first_free(points, order, history)
        if chosen is None:
            return Proposal(random_config(history, rng), "random, every candidate was tried before")
        ranks = {model: int((values > values[chosen]).sum()) + 1 for model, values in scores.items()}
        reason = f"proposed by {sources[chosen]}, {votes.get(chosen, 0)} of {len(scores)} models have it first"
        explanation = {"step": known.step, "source": sources[chosen], "ranks": ranks}
        explanation |= {"candidates": len(points), "margin": margin}
        return Proposal(history.codec.decode(points[chosen]), reason, explanation)

    def _candidates(
        self, history: History, known: TrainingSet, surrogate: Surrogate | None, rng: np.random.Generator
    ) -> tuple[Array, list[str]]:
        """Algorithm 5, line 1: points (m, d) and where each is from."""
        rows = open_points(history, rng)
        if rows is not None:
            return rows, ["table"] * len(rows)
        codec = history.codec
        draw: dict[Source, Callable[[int], Array]] = {
            "tpe": lambda m: TPE(startup=self.startup, fit_at=self.fit_at).drawn(history, rng, m),
            "cma": lambda m: draw_around_best(codec.choices, known.points, known.losses, rng, m),
            "latin": lambda m: latin(rng, m, codec.dimensions),
            "random": lambda m: uniform(history, rng, m),
            "local": lambda m: around(known.points[ascending(known.losses)[:5]], rng, m, codec),
        }
        counts = self._counts()
        drawn = {source: draw[source](counts[source]) for source in draw if counts.get(source)}
        points = snap(np.vstack(list(drawn.values())), codec)
        sources: list[str] = [source for source, given in drawn.items() for _ in given]
        if surrogate is None or not counts.get("climb"):
            return points, sources
        searched, _ = surrogate.searched(points, counts["climb"])
        return searched, ["climb"] * (len(searched) - len(points)) + sources

    def _scores(
        self, history: History, known: TrainingSet, surrogate: Surrogate | None, points: Array, margin: float
    ) -> dict[str, Array]:
        """Algorithm 5, lines 3 and 4: what each model makes of each candidate. Shapes (m,)."""
        acquire, Z = ACQUISITIONS[self.acquisition], embedding(history)(points)
        scores: dict[str, Array] = {}
        for model in self.models:
            if model == "gp":
                assert surrogate is not None
                scores[model] = acquire(*surrogate.predict(points), surrogate.best)[0]
            else:
                fitted, best = fitted_forest(model, history, known, self.transform)
                mean, sd = fitted.predict(Z)
                scores[model] = acquire(mean, sd, best - margin)[0]
        return scores

    def _rank(self, scores: dict[str, Array]) -> tuple[Codes, dict[int, int]]:
        """The candidates from best to worst (Algorithm 5, line 5), and how many models have one first."""
        total = mean_ranks(list(scores.values()))
        votes = Counter(int(values.argmax()) for values in scores.values())
        if self.combine == "ranks":
            return ascending(total), votes
        counts = np.array([votes.get(i, 0) for i in range(len(total))])
        return np.lexsort((total, -counts)), votes
