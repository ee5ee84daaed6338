"""Gaussian-process policies at work: on a fixed set of arms, and in the unit cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.randomness import generator
from shoestring.models.time_varying import ArmFilter, Forgetting, Looks, Process, WindowedProcess
from shoestring.online import optima
from shoestring.online.domains import Arms, Cube
from shoestring.online.exploration import ACQUISITIONS, Beta, Score
from shoestring.online.learning import Prior, parameters
from shoestring.online.optima import Neighbourhoods
from shoestring.online.view import View

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    prior: Prior
    beta: Beta
    acquisition: str
    neighbourhood: float
    block: int | None
    horizon: int | None
    seed: int

    def era(self, round: int) -> int:
        """Which block a round belongs to; with a new one everything is forgotten."""
        return 0 if self.block is None else (round - 1) // self.block

    def score(self, mean: Array, variance: Array, best: float, root_beta: float, scale: float) -> Score:
        # PI needs something to improve by, or the best mean always wins: a tenth of the prior's deviation.
        margin = 0.1 * scale if self.acquisition == "pi" else 0.0
        return ACQUISITIONS[self.acquisition](mean, np.sqrt(np.maximum(variance, 1e-16)), best + margin, root_beta)


class _FilteredArms:
    """Arms under forgetting: the exact filter."""

    def __init__(self, points: Array, process: Process) -> None:
        assert isinstance(process.drift, Forgetting)
        self.filter = ArmFilter(process.kernel(points, points), process.drift.rate, process.nugget)
        self.round = 0

    def move_to(self, round: int) -> tuple[Array, Array]:
        if round > self.round:
            self.filter.advance(round - self.round)
            self.round = round
        return self.filter.mean, self.filter.variance

    def observe(self, arm: int, round: int, value: float) -> None:
        self.move_to(round)
        self.filter.observe(arm, value)

    def covariance(self, arm: int) -> Array:
        return self.filter.covariance(arm)

    def state(self) -> dict[str, Any]:
        return {**self.filter.state(), "round": self.round}

    def restore(self, state: dict[str, Any]) -> None:
        self.filter.restore(state)
        self.round = int(state["round"])


class _WindowedArms:
    """Arms under any other drift: the looks within reach, solved directly."""

    def __init__(self, points: Array, process: Process) -> None:
        self._points, self._process = points, process
        self._window = WindowedProcess(process, Looks.none(points.shape[1]))
        self.round = 0

    def move_to(self, round: int) -> tuple[Array, Array]:
        self.round = round
        return self._window.at(self._points, round)

    def observe(self, arm: int, round: int, value: float) -> None:
        self._window.observe(self._points[arm], round, value)

    def covariance(self, arm: int) -> Array:
        return self._window.covariance(self._points[arm], self._points, self.round)

    def state(self) -> dict[str, Any]:
        return {"round": self.round, **_packed(self._window.looks), "factor": self._window.factor}

    def restore(self, state: dict[str, Any]) -> None:
        self.round = int(state["round"])
        self._window = WindowedProcess(self._process, _unpacked(state), state["factor"])


class ArmPlayer:
    """A Gaussian-process policy on a finite domain; candidates are the indices of the arms."""

    def __init__(self, arms: Arms, settings: Settings) -> None:
        self._arms, self._settings = arms, settings
        # A learned length-scale is a fraction of the range of each coordinate.
        unscaled = settings.prior.lengthscale is not None or not arms.related
        self._points = arms.points if unscaled else arms.points / arms.span
        self._near = Neighbourhoods(arms, settings.neighbourhood)
        self._forget_everything(era=0)

    def _forget_everything(self, era: int) -> None:
        self._era = era
        self.process = self._settings.prior.first(self._arms, self._settings.horizon)
        self._looks = Looks.none(1)
        self._fitted, self.readings = 0, 0
        self._belief = self._believe()

    def _believe(self) -> _FilteredArms | _WindowedArms:
        kind = _FilteredArms if isinstance(self.process.drift, Forgetting) else _WindowedArms
        belief = kind(self._points, self.process)
        for arm, round, value in zip(self._looks.points[:, 0], self._looks.rounds, self._looks.values, strict=True):
            belief.observe(int(arm), int(round), float(value))
        return belief

    def view(self, round: int) -> View:
        if self._settings.era(round) != self._era:
            self._forget_everything(self._settings.era(round))
        mean, variance = self._belief.move_to(round)
        root_beta = float(np.sqrt(self._settings.beta(round, len(self._arms), self._points.shape[1])))
        if not self.readings:
            chosen = int(generator(self._settings.seed, round, "first arm").integers(len(self._arms)))
            return self._view(chosen, mean, variance, root_beta, lambda: np.empty(0, dtype=np.intp))
        scale = float(np.sqrt(self.process.kernel.variance))
        score = self._settings.score(mean, variance, float(mean.max()), root_beta, scale).value
        chosen = int(np.argmax(score))
        return self._view(chosen, mean, variance, root_beta, lambda: _without(self._near.optima(score), chosen))

    def _view(self, chosen: int, mean: Array, variance: Array, root_beta: float, rivals: Any) -> View:
        return View(
            range(len(self._arms)),
            chosen,
            mean,
            variance,
            float(np.sqrt(self.process.kernel.variance)),
            self._settings.prior.informed(self.readings),
            root_beta,
            rivals,
            lambda: self._belief.covariance(chosen),
            lambda: int(np.argmax(mean)),
        )

    def observe(self, round: int, candidate: int, value: float) -> None:
        self.readings += 1
        if self._settings.prior.free():
            self._looks = self._looks.and_also(np.array([candidate]), round, value).last(WindowedProcess.LARGEST)
        if self._settings.prior.due(self.readings, self._fitted):
            self._learn()
        else:
            self._belief.observe(candidate, round, value)

    def _learn(self) -> None:
        placed = Looks(self._points[self._looks.points[:, 0].astype(int)], self._looks.rounds, self._looks.values)
        self.process = self._settings.prior.learn(self.process, placed, self._settings.horizon)
        self._fitted = self.readings
        self._belief = self._believe()

    def state(self) -> dict[str, Any]:
        return {
            "era": self._era,
            "readings": self.readings,
            "fitted": self._fitted,
            "parameters": parameters(self.process),
            "looks": _packed(self._looks),
            "belief": self._belief.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._era = int(state["era"])
        self.readings, self._fitted = int(state["readings"]), int(state["fitted"])
        self.process = self.process.with_parameters(state["parameters"])
        self._looks = Looks.none(1)
        self._belief = self._believe()
        self._looks = _unpacked(state["looks"])
        self._belief.restore(state["belief"])


class CubePlayer:
    """A Gaussian-process policy in the unit cube; candidates are the local optima of the acquisition."""

    def __init__(self, cube: Cube, settings: Settings) -> None:
        self._cube, self._settings = cube, settings
        self._forget_everything(era=0)

    def _forget_everything(self, era: int) -> None:
        self._era = era
        self.process = self._settings.prior.first(self._cube, self._settings.horizon)
        self._window = WindowedProcess(self.process, Looks.none(self._cube.codec.dimensions))
        self._fitted, self.readings = 0, 0

    def view(self, round: int) -> View:
        if self._settings.era(round) != self._era:
            self._forget_everything(self._settings.era(round))
        root_beta = float(np.sqrt(self._settings.beta(round, None, self._cube.codec.dimensions)))
        starts = self._starts(round)
        if not self.readings:
            return self._view(np.array([self._cube.settle(starts[0])]), round, root_beta)
        best = float(self._window.at(self._window.looks.points, round)[0].max())
        scale = float(np.sqrt(self.process.kernel.variance))

        def acquisition(points: Array) -> tuple[Array, Array]:
            mean, variance, d_mean, d_variance = self._window.gradients(points, round)
            score = self._settings.score(mean, variance, best, root_beta, scale)
            by_variance = score.by_deviation / (2.0 * np.sqrt(variance))
            return score.value, score.by_mean[:, None] * d_mean + by_variance[:, None] * d_variance

        return self._view(optima.search(self._cube, acquisition, starts), round, root_beta)

    def _starts(self, round: int) -> Array:
        rng = generator(self._settings.seed, round, "starts")
        codec = self._cube.codec
        if codec.rows is not None:
            return codec.row_points[rng.integers(len(codec.row_points), size=optima.STARTS)]
        return np.array([np.nan_to_num(codec.encode(codec.sample(rng)), nan=0.5) for _ in range(optima.STARTS)])

    def _view(self, points: Array, round: int, root_beta: float) -> View:
        mean, variance = self._window.at(points, round)
        return View(
            points,
            0,
            mean,
            variance,
            float(np.sqrt(self.process.kernel.variance)),
            self._settings.prior.informed(self.readings),
            root_beta,
            lambda: np.arange(1, len(points)),
            lambda: self._window.covariance(points[0], points, round),
            lambda: self._best_mean(points, round),
        )

    def _best_mean(self, points: Array, round: int) -> Array:
        """The largest posterior mean, climbed from the optima and the best points looked at."""

        def mean(at: Array) -> tuple[Array, Array]:
            value, _, gradient, _ = self._window.gradients(at, round)
            return value, gradient

        seen = self._window.looks.points
        best = seen[np.argsort(-self._window.at(seen, round)[0], kind="stable")[:5]]
        starts = np.nan_to_num(np.vstack([points, best]), nan=0.5)
        return np.asarray(optima.search(self._cube, mean, starts)[0])

    def observe(self, round: int, candidate: Array, value: float) -> None:
        self.readings += 1
        self._window.observe(np.asarray(candidate, dtype=np.float64), round, value)
        if self._settings.prior.due(self.readings, self._fitted):
            self.process = self._settings.prior.learn(self.process, self._window.looks, self._settings.horizon)
            self._fitted = self.readings
            self._window = WindowedProcess(self.process, self._window.looks)

    def state(self) -> dict[str, Any]:
        return {
            "era": self._era,
            "readings": self.readings,
            "fitted": self._fitted,
            "parameters": parameters(self.process),
            "looks": _packed(self._window.looks),
            "factor": self._window.factor,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._era = int(state["era"])
        self.readings, self._fitted = int(state["readings"]), int(state["fitted"])
        self.process = self.process.with_parameters(state["parameters"])
        self._window = WindowedProcess(self.process, _unpacked(state["looks"]), state["factor"])


def _without(positions: Ints, chosen: int) -> Ints:
    return np.asarray(positions[positions != chosen])


def _packed(looks: Looks) -> dict[str, Array]:
    return {"points": looks.points, "rounds": looks.rounds, "values": looks.values}


def _unpacked(state: dict[str, Any]) -> Looks:
    return Looks(state["points"], state["rounds"], state["values"])
