"""Gaussian-process policies at work: on a fixed set of arms, and in the unit cube."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array
from shoestring.core.randomness import generator
from shoestring.models.acquisition import ACQUISITIONS, Scored, upper_confidence_bound
from shoestring.models.time_varying import ArmFilter, Forgetting, Readings, TimeVaryingProcess, WindowedProcess
from shoestring.online.beta import Beta
from shoestring.online.domains import Arms, Cube, Domain
from shoestring.online.local_optima import Neighbourhoods, search
from shoestring.online.prior import Prior
from shoestring.online.suggestion import Posterior, Suggestion

Ints = NDArray[np.intp]
Acquisition = Literal["ucb", "ei", "pi"]

# Random starts of the search for local optima (appendix B.3).
_STARTS = 50


@dataclass(frozen=True)
class Settings:
    """The options that a policy asks for. Each new block of rounds starts without memory."""

    prior: Prior
    beta: Beta
    acquisition: Acquisition
    block: int | None
    horizon: int | None
    seed: int


class _Model(Protocol):
    def observe(self, candidate: Any, round: int, value: float) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class _ProcessAgent(ABC):
    """The base of both agents: blocks of rounds, refitting the prior, and the state of a checkpoint."""

    _model: _Model

    def __init__(self, domain: Domain, settings: Settings, columns: int) -> None:
        """``columns`` is the length of a candidate: 1 for the index of an arm, the dimensions for a point."""
        self._settings, self._none = settings, Readings.empty(columns)
        self._first_process = settings.prior.first_process(domain, settings.horizon)
        self._restart(block=0)

    @abstractmethod
    def _new_model(self, readings: Readings) -> Any:
        """The posterior of ``self.process`` given the readings, whose points are candidates."""

    @abstractmethod
    def _suggest(self, round: int) -> Suggestion: ...

    def _coordinates(self, candidates: Array) -> Array:
        return candidates

    def _restart(self, block: int) -> None:
        self._block, self._fitted_at, self.readings = block, 0, 0
        self.process, self._kept = self._first_process, self._none
        self._model = self._new_model(self._none)

    def suggest(self, round: int) -> Suggestion:
        block = (round - 1) // self._settings.block if self._settings.block else 0
        if block != self._block:
            self._restart(block)
        return self._suggest(round)

    def observe(self, round: int, candidate: Any, value: float) -> None:
        prior = self._settings.prior
        self.readings += 1
        if prior.free():
            self._kept = self._kept.append(np.atleast_1d(candidate), round, value).last(WindowedProcess.LARGEST)
        if not prior.refit_due(self.readings, self._fitted_at):
            self._model.observe(candidate, round, value)
            return
        readings = replace(self._kept, points=self._coordinates(self._kept.points))
        self.process = prior.refit(self.process, readings, self._settings.horizon)
        self._fitted_at = self.readings
        self._model = self._new_model(self._kept)

    def state(self) -> dict[str, Any]:
        return {
            "block": self._block,
            "readings": self.readings,
            "fitted_at": self._fitted_at,
            "parameters": self.process.parameters,
            "kept": asdict(self._kept),
            "model": self._model.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._block, self._fitted_at, self.readings = state["block"], state["fitted_at"], state["readings"]
        self.process = self._first_process.with_parameters(state["parameters"])
        self._kept = Readings(**state["kept"])
        self._model = self._new_model(self._none)
        self._model.restore(state["model"])

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.process.kernel.variance))

    def _root_beta(self, round: int, arms: int | None, dimensions: int) -> float:
        return float(np.sqrt(self._settings.beta(round, arms, dimensions)))

    def _acquisition(self, mean: Array, variance: Array, best: float, root_beta: float) -> Scored:
        """The score and its derivatives. Acquisitions are of losses, so rewards change their sign here."""
        sd, name = np.sqrt(np.maximum(variance, 1e-16)), self._settings.acquisition
        if name == "ucb":
            value, by_mean, by_sd = upper_confidence_bound(-mean, sd, -best, width=root_beta)
        else:
            # PI needs something to improve by, or the best mean always wins: a tenth of the prior's deviation.
            margin = 0.1 * self._scale if name == "pi" else 0.0
            value, by_mean, by_sd = ACQUISITIONS[name](-mean, sd, -(best + margin))
        return value, -by_mean, by_sd

    def _posterior(
        self,
        chosen: int,
        moments: tuple[Array, Array],
        root_beta: float,
        rivals: Callable[[], Ints],
        covariance: Callable[[], Array],
    ) -> Posterior:
        known = self._settings.prior.scale_known(self.readings)
        return Posterior(chosen, *moments, self._scale, known, root_beta, rivals, covariance)


class ArmAgent(_ProcessAgent):
    """A Gaussian-process policy on a finite domain; candidates are the indices of the arms."""

    _model: ArmFilter | _WindowedArms

    def __init__(self, arms: Arms, settings: Settings) -> None:
        # A learned length-scale is a fraction of the range of each coordinate.
        unscaled = settings.prior.lengthscale is not None or not arms.related
        self._points = arms.points if unscaled else arms.points / arms.span
        self._neighbourhoods = Neighbourhoods(arms)
        super().__init__(arms, settings, columns=1)

    def _coordinates(self, candidates: Array) -> Array:
        return np.asarray(self._points[candidates[:, 0].astype(int)])

    def _new_model(self, readings: Readings) -> ArmFilter | _WindowedArms:
        process = self.process
        if not isinstance(process.drift, Forgetting):
            return _WindowedArms(process, self._points, replace(readings, points=self._coordinates(readings.points)))
        model = ArmFilter(process.kernel(self._points, self._points), process.drift.rate, process.nugget)
        for arm, round, value in zip(readings.points[:, 0], readings.rounds, readings.values, strict=True):
            model.observe(int(arm), int(round), float(value))
        return model

    def _suggest(self, round: int) -> Suggestion:
        mean, variance = moments = self._model.predict(round)
        root_beta = self._root_beta(round, *self._points.shape)
        if self.readings:
            score = self._acquisition(mean, variance, float(mean.max()), root_beta)[0]
            chosen = int(np.argmax(score))
        else:
            chosen = int(generator(self._settings.seed, round, "first arm").integers(len(mean)))

        def rivals() -> Ints:
            optima = self._neighbourhoods.optima(score) if self.readings else np.empty(0, dtype=np.intp)
            return np.asarray(optima[optima != chosen])

        posterior = self._posterior(chosen, moments, root_beta, rivals, lambda: self._model.covariance(chosen))
        return Suggestion(chosen, lambda: int(np.argmax(mean)), posterior)


class _WindowedArms:
    """Arms under a drift other than forgetting: a windowed process with the arms' coordinates."""

    def __init__(self, process: TimeVaryingProcess, points: Array, readings: Readings) -> None:
        self._points, self._window, self._round = points, WindowedProcess(process, readings), 0

    def predict(self, round: int) -> tuple[Array, Array]:
        self._round = round
        return self._window.predict(self._points, round)

    def observe(self, arm: int, round: int, value: float) -> None:
        self._window.observe(self._points[arm], round, value)

    def covariance(self, arm: int) -> Array:
        return self._window.covariance(self._points[arm], self._points, self._round)

    def state(self) -> dict[str, Any]:
        return self._window.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._window.restore(state)


class CubeAgent(_ProcessAgent):
    """A Gaussian-process policy in the unit cube; candidates are the local optima of the acquisition."""

    _model: WindowedProcess

    def __init__(self, cube: Cube, settings: Settings) -> None:
        self._codec = cube.codec
        super().__init__(cube, settings, columns=cube.codec.dimensions)

    def _new_model(self, readings: Readings) -> WindowedProcess:
        return WindowedProcess(self.process, readings)

    def _suggest(self, round: int) -> Suggestion:
        root_beta = self._root_beta(round, None, self._codec.dimensions)
        rng = generator(self._settings.seed, round, "starts")
        starts = np.array([self._codec.encode(self._codec.sample(rng)) for _ in range(_STARTS)])
        points = self._optima(starts, round, root_beta) if self.readings else starts[:1]
        posterior = self._posterior(
            0,
            self._model.predict(points, round),
            root_beta,
            lambda: np.arange(1, len(points)),
            lambda: self._model.covariance(points[0], points, round),
        )
        return Suggestion(points[0], lambda: self._best_mean(points, round), posterior)

    def _optima(self, starts: Array, round: int, root_beta: float) -> Array:
        """The local optima of the acquisition, best first."""
        best = float(self._model.predict(self._model.readings.points, round)[0].max())

        def score(points: Array) -> Array:
            return self._acquisition(*self._model.predict(points, round), best, root_beta)[0]

        def slope(points: Array) -> tuple[Array, Array]:
            mean, variance, d_mean, d_variance = self._model.predict_with_gradient(points, round)
            value, by_mean, by_sd = self._acquisition(mean, variance, best, root_beta)
            by_variance = by_sd / (2.0 * np.sqrt(variance))
            return value, by_mean[:, None] * d_mean + by_variance[:, None] * d_variance

        return search(self._codec, score, slope, starts)

    def _best_mean(self, points: Array, round: int) -> Array:
        """The point of the largest posterior mean, climbed from the optima and the best points that were read."""

        def mean(at: Array) -> Array:
            return self._model.predict(at, round)[0]

        def slope(at: Array) -> tuple[Array, Array]:
            value, _, gradient, _ = self._model.predict_with_gradient(at, round)
            return value, gradient

        seen = self._model.readings.points
        best = seen[np.argsort(-mean(seen), kind="stable")[:5]]
        return np.asarray(search(self._codec, mean, slope, np.vstack([points, best]))[0])
