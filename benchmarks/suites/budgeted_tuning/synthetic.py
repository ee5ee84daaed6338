"""Curves drawn from the freeze-thaw prior: Figures 1 and 5, a wrong prior, and the cost of a decision.

84 arms on the unit square, 48 units of training. Asymptotes from a zero-mean process of magnitude 1 and length 0.8,
decays with α = 1.5, β = 5 and magnitude 10, all conditioned on the curves starting at the loss 10. A budget unit is
one reading. The methods run in studies on a table of the curves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from shoestring.core.decisions import Decision, Method
from shoestring.core.history import History
from shoestring.executors import Simulated
from shoestring.methods import BHPT, BayesianOptimization, FreezeThaw, Rollout, named
from shoestring.models.freeze_thaw import Parameters, distances
from shoestring.problems import CurveTable

Array = NDArray[np.float64]

ARMS, UNITS, START = 84, 48, 10.0
BUDGETS = (10, 25, 50, 100, 200)
TRUTH: dict[str, Any] = {
    "alpha": 1.5, "beta": 5.0, "decay": 10.0, "noise": 1e-4, "spread": 1.0, "own": 0.0, "lengthscale": 0.8,
    "mean": 0.0, "start": START, "start_informs": True, "form": "squared_exponential",
}  # fmt: skip
KNOWN: dict[str, Any] = {"pool": ARMS, "unit": 1, "learn": None, "scale": "raw", "parameters": TRUTH}


def _points_and_floors(rng: np.random.Generator, parameters: Parameters) -> tuple[Array, Array]:
    points = rng.random((ARMS, 2))
    mean, covariance = parameters.asymptotes(distances(points, points))
    values, vectors = np.linalg.eigh(covariance)
    return points, mean + vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=ARMS))


def drawn(seed: int) -> tuple[Array, Array]:
    """Points and curves of one set: the joint Gaussian, conditioned on every curve starting at 10."""
    rng = np.random.default_rng(seed)
    points, f = _points_and_floors(rng, Parameters(**TRUTH))
    t = np.arange(UNITS + 1.0)
    K_t = TRUTH["decay"] * (TRUTH["beta"] / (t[:, None] + t + TRUTH["beta"])) ** TRUTH["alpha"]
    share = K_t[1:, 0] / K_t[0, 0]  # the remaining weight of the start
    wiggle = np.linalg.cholesky(K_t[1:, 1:] - np.outer(share, K_t[0, 1:]) + TRUTH["noise"] * np.eye(UNITS))
    return points, f[:, None] + np.outer(START - f, share) + rng.normal(size=(ARMS, UNITS)) @ wiggle.T


def power_laws(seed: int) -> tuple[Array, Array]:
    """Curves that fall by a power of time to smooth asymptotes, with noise 0.1: not what the model expects."""
    rng = np.random.default_rng(seed)
    points, f = _points_and_floors(rng, Parameters(**{**TRUTH, "start_informs": False}))
    rate = rng.uniform(0.3, 1.5, ARMS)
    falling = (1.0 + np.arange(1, UNITS + 1)) ** -rate[:, None]
    return points, f[:, None] + (START - f)[:, None] * falling + 0.1 * rng.normal(size=(ARMS, UNITS))


Play = tuple[float, int, float]


def played(sets: Callable[[int], tuple[Array, Array]], seed: int, method: Method, budget: int, last: int) -> Play:
    """Normalised regret (Eq. 13), the true rank of the output arm, and its share of the budget."""
    points, curves = sets(seed)
    within = min(budget, last) if method in WHOLE else last  # a method that stops nothing early gets what it can pay
    table = CurveTable(points, curves[:, :within], space={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    study = ss.Study(table.space, budget=ss.Budget(steps=budget), method=method, max_resource=within, seed=seed)
    study.run(table, executor=Simulated(1))
    trial, _, found = min(study.history.readings, key=lambda reading: reading[2])
    reachable = curves[:, : min(budget, UNITS)].min(axis=1)
    rank = int((reachable < reachable[table.row(trial.config)]).sum())
    best = float(reachable.min())
    return (found - best) / (START - best), rank, trial.step / budget


METHODS: dict[str, Method] = {
    "BHPT": BHPT(**KNOWN, rule="q"),
    "BHPT-ε": BHPT(**KNOWN, epsilon=0.5),
    "KGm": BHPT(**KNOWN, rule="kgm"),
    "bhpt, as shipped": named("bhpt"),
    "bhpt-paper": named("bhpt-paper"),
    "Rollout": Rollout(**KNOWN),
    "FreezeThaw": FreezeThaw(**KNOWN),
    "Hyperband": named("hyperband"),
    "GP-EI": BayesianOptimization(**KNOWN, startup=1),
    "random": named("random"),
}
WHOLE = (METHODS["GP-EI"], METHODS["random"])
OWN = ("BHPT-ε", "bhpt, as shipped", "bhpt-paper")
LIMITS = (0.29, 0.16, 0.10, 0.028, 0.010)


ALONE: dict[str, Method] = {
    "Q alone": BHPT(**KNOWN, rule="q-alone"),
    "Q-ε alone": BHPT(**KNOWN, rule="q-alone", epsilon=0.5),
}
# A start of learning that is not the truth: no parameter is within half a deviation of its prior.
OFF: dict[str, Any] = {
    **TRUTH, "alpha": 0.75, "beta": 15.0, "decay": 30.0, "noise": 1e-3, "spread": 0.3, "lengthscale": 0.4, "mean": 1.0,
}  # fmt: skip
LEARNED: dict[str, Method] = {
    "BHPT, slice sampling": BHPT(**{**KNOWN, "learn": "slice"}, rule="q"),
    "BHPT, likeliest": BHPT(**{**KNOWN, "learn": "ml"}, rule="q"),
    "BHPT, wrong and fixed": BHPT(**{**KNOWN, "parameters": OFF}, rule="q"),
    "BHPT, slice sampling from a wrong start": BHPT(**{**KNOWN, "learn": "slice", "parameters": OFF}, rule="q"),
    "BHPT, likeliest from a wrong start": BHPT(**{**KNOWN, "learn": "ml", "parameters": OFF}, rule="q"),
}


@cache
def _plays(name: str, seeds: int) -> dict[int, list[Play]]:
    method = {**METHODS, **ALONE, **LEARNED}[name]

    def play(budget: int, seed: int) -> Play:
        identity = key("freeze-thaw prior", seed, method, budget=budget)
        return tuple(runs().get(identity, lambda: played(drawn, seed, method, budget, UNITS)))

    return {b: [play(b, seed) for seed in range(seeds)] for b in BUDGETS}


def _of(name: str, seeds: int, what: Callable[[Play], float]) -> dict[int, list[float]]:
    """One quantity of all plays of a method, by budget."""
    return {budget: [float(what(play)) for play in plays] for budget, plays in _plays(name, seeds).items()}


def _picture(options: Options, name: str, label: str, lines: Mapping[str, dict[int, list[float]]]) -> None:
    figure, axes = new_figure(1, 1)
    axis = axes[0, 0]
    for who, values in lines.items():
        axis.plot(BUDGETS, [np.mean(values[b]) for b in BUDGETS], marker="o", markersize=3, linewidth=1.2, label=who)
    axis.set(xlabel="budget in units", ylabel=label, xscale="log")
    axis.set_xticks(BUDGETS, [str(b) for b in BUDGETS])
    axis.legend(fontsize="small")
    saved(figure, name, options)


def _regrets(options: Options, names: Iterable[str], picture: str) -> dict[str, dict[int, list[float]]]:
    found = {who: _of(who, options.seeds, lambda play: play[0]) for who in names}
    _picture(options, picture, "normalised regret", found)
    return found


def figure_1a(options: Options) -> list[Row]:
    """Normalised regret by budget, on draws from the model's own prior; "BHPT" and its kin know the parameters."""
    rows, regret = [], _regrets(options, METHODS, "budgeted_tuning_1a")
    for who, by_budget in regret.items():
        for budget, limit in zip(BUDGETS, LIMITS, strict=True):
            ours = float(np.mean(regret["BHPT"][budget]))
            limits = {"BHPT": {"at_most": limit}, "KGm": {"at_most": ours}, **{name: {} for name in OWN}}
            known = limits.get(who, {"at_least": ours})
            rows.append(row(f"{who}, B={budget}: regret", by_budget[budget], **known))
            rows.append(row(f"{who} − BHPT, B={budget}: regret", _gaps(by_budget[budget], regret["BHPT"][budget])))
    return rows


def _gaps(values: list[float], reference: list[float]) -> list[float]:
    return [float(gap) for gap in np.subtract(values, reference)]


def figure_1b(options: Options) -> list[Row]:
    """Return how often the output is among the 5 best of the 84 arms."""
    found = {who: _of(who, options.seeds, lambda play: play[1] < 5) for who in METHODS}
    _picture(options, "budgeted_tuning_1b", "output among the best 5", found)
    return [
        row(f"{who}, B={b}: among the best 5", hits, at_least=0.95 if (who, b) == ("BHPT", 100) else None)
        for who, by_budget in found.items()
        for b, hits in by_budget.items()
    ]


def figure_1c(options: Options) -> list[Row]:
    """The share of the budget that went to the output arm."""
    found = {who: _of(who, options.seeds, lambda play: play[2]) for who in METHODS}
    _picture(options, "budgeted_tuning_1c", "share of the budget on the output", found)
    return [row(f"{who}, B={b}: share", shares) for who, by_b in found.items() for b, shares in by_b.items()]


def figure_5a(options: Options) -> list[Row]:
    """Without the rule of budget exhaustion."""
    return _compared(options, ["BHPT", "BHPT-ε", *ALONE], "budgeted_tuning_5a")


def figure_5b(options: Options) -> list[Row]:
    """Parameters known, learned by slice sampling, and learned by maximum likelihood."""
    return _compared(options, ["BHPT", *LEARNED], "budgeted_tuning_5b")


def _compared(options: Options, names: Iterable[str], picture: str) -> list[Row]:
    found = _regrets(options, names, picture)
    return [row(f"{who}, B={b}: regret", values) for who, by_b in found.items() for b, values in by_b.items()]


# Where the curves are not drawn from the prior: a start that says nothing of the end, rougher and noisier.
WIDE: dict[str, Any] = {**TRUTH, "start_informs": False, "noise": 1e-2, "own": 1e-2, "form": "matern52"}


def trap(options: Options) -> list[Row]:
    """Power-law curves with noise 0.1: parameters known wrongly, and learned; the bar is the better Hyperband."""
    sets = min(options.seeds, 30)
    methods: dict[str, tuple[Method, int]] = {
        "Hyperband, R=27": (named("hyperband"), 27),
        "Hyperband, R=48": (named("hyperband"), UNITS),
        "BHPT, parameters as drawn for Figure 1": (METHODS["BHPT"], UNITS),
        "BHPT, likeliest": (BHPT(**{**KNOWN, "learn": "ml", "parameters": WIDE}, rule="q"), UNITS),
        "KGm, likeliest": (BHPT(**{**KNOWN, "learn": "ml", "parameters": WIDE}, rule="kgm"), UNITS),
    }
    found = {
        who: {b: [played(power_laws, seed, method, b, last)[0] for seed in range(sets)] for b in BUDGETS}
        for who, (method, last) in methods.items()
    }
    rows = []
    for who, by_budget in found.items():
        for b, values in by_budget.items():
            bar = min(float(np.mean(found[f"Hyperband, R={last}"][b])) for last in (27, 48))
            rows.append(row(f"{who}, B={b}: regret", values, at_most=bar if "likeliest" in who else None))
    return rows


class Timed:
    """A method, and the CPU milliseconds of its decisions."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.milliseconds: list[float] = []

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        start = time.process_time()
        decision = self.method.decide(history, rng)
        self.milliseconds.append(1e3 * (time.process_time() - start))
        return decision


def cost(options: Options) -> list[Row]:
    """CPU milliseconds of a decision, the update included, one reading a decision; medians of 100 decisions."""
    early, late = (100, 300) if options.quick else (500, 8000)
    rows = []
    for arms, scale, rule in product((100, 1000), ("raw", "ranks"), ("q", "kgm")):
        bar = 1.0 if arms == 100 else 5.0
        long = arms == 1000
        method = BHPT(**{**KNOWN, "pool": arms, "scale": scale}, rule=rule)
        spent = _decision_costs(arms, method, (late if long else early) + 50)[1:]
        first = float(np.median(spent[early - 50 : early + 50]))
        rows.append(Row(f"{arms} arms, {rule}, {scale}, {early} readings: ms", first, at_most=bar))
        if long:
            last = float(np.median(spent[late - 50 : late + 50]))
            rows.append(Row(f"{arms} arms, {rule}, {scale}, {late} readings: ms", last, at_most=bar))
            rows.append(
                Row(f"{arms} arms, {rule}, {scale}: {late} readings against {early}", last / first, at_most=2.5)
            )
    return rows


def _decision_costs(arms: int, method: Method, budget: int) -> list[float]:
    """CPU milliseconds of each decision on curves that differ only by noise, so that the method keeps switching."""
    rng = np.random.default_rng(0)
    curves = START - np.log(np.arange(1, UNITS + 1)) + rng.normal(size=(arms, 1)) + rng.normal(size=(arms, UNITS))
    table = CurveTable(rng.random((arms, 2)), curves, space={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    timed = Timed(method)
    study = ss.Study(table.space, budget=ss.Budget(steps=budget), method=timed, max_resource=UNITS)
    study.run(table, executor=Simulated(1))
    return timed.milliseconds


def forecast_cost(options: Options) -> list[Row]:
    """CPU milliseconds of a decision of forecast, with 2,000 candidates; medians of 100 decisions."""
    spent = _decision_costs(2000, named("forecast"), (10 if options.quick else 60) * UNITS)
    return [
        Row(f"forecast, after {place} decisions: ms", float(np.median(spent[place - 50 : place + 50])))
        for place in (100, 250, 600, 1200)
        if place + 50 <= len(spent)
    ]
