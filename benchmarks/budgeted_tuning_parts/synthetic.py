"""Curves drawn from the freeze-thaw prior: Figures 1 and 5, the power-law trap, exactness and the cost of a decision.

84 arms on the unit square, 48 units of training. Asymptotes from a zero-mean process of magnitude 1 and length 0.8,
decays with α = 1.5, β = 5 and magnitude 10, all conditioned on the curves starting at the loss 10. A budget unit is
one reading. The methods run in studies on a table of the curves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from common import Options
from measurements import Row, row
from numpy.typing import NDArray
from pictures import new_figure, saved

import shoestring as ss
from shoestring.core.decisions import Decision, Method
from shoestring.core.history import History
from shoestring.executors import Simulated
from shoestring.methods import BHPT, BayesianOptimization, named
from shoestring.models.freeze_thaw import Belief, Parameters, distances
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
    share = K_t[1:, 0] / K_t[0, 0]  # what the start still weighs
    wiggle = np.linalg.cholesky(K_t[1:, 1:] - np.outer(share, K_t[0, 1:]) + TRUTH["noise"] * np.eye(UNITS))
    return points, f[:, None] + np.outer(START - f, share) + rng.normal(size=(ARMS, UNITS)) @ wiggle.T


def power_laws(seed: int) -> tuple[Array, Array]:
    """Curves that fall by a power of time to smooth asymptotes, with noise 0.1: not what the belief expects."""
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
    "Hyperband": named("hyperband"),
    "GP-EI": BayesianOptimization(**KNOWN, startup=1),
    "random": named("random"),
}
WHOLE = (METHODS["GP-EI"], METHODS["random"])
BARS = (0.29, 0.16, 0.10, 0.028, 0.010)


@cache
def _plays(name: str, seeds: int, budgets: tuple[int, ...] = BUDGETS) -> dict[int, list[Play]]:
    method = {**METHODS, **ALONE, **LEARNED}[name]
    return {b: [played(drawn, seed, method, b, UNITS) for seed in range(seeds)] for b in budgets}


def _sets(options: Options) -> int:
    return options.seeds or (4 if options.quick else 60)


def _picture(name: str, label: str, lines: dict[str, list[float]]) -> None:
    figure, axes = new_figure(1, 1)
    axis = axes[0, 0]
    for who, values in lines.items():
        axis.plot(BUDGETS[: len(values)], values, marker="o", markersize=3, linewidth=1.2, label=who)
    axis.set(xlabel="budget in units", ylabel=label, xscale="log")
    axis.set_xticks(BUDGETS, [str(b) for b in BUDGETS])
    axis.legend(fontsize="small")
    saved(figure, name)


def figure_1a(options: Options) -> list[Row]:
    """Normalised regret by budget, on draws from the belief's own prior; the bar of a baseline is 1.8 times BHPT."""
    rows, lines = [], {}
    regret = {who: {b: [p[0] for p in ps] for b, ps in _plays(who, _sets(options)).items()} for who in METHODS}
    for who, by_budget in regret.items():
        lines[who] = [float(np.mean(values)) for values in by_budget.values()]
        for budget, bar in zip(BUDGETS, BARS, strict=True):
            ours = float(np.mean(regret["BHPT"][budget]))
            bars = {
                "BHPT": {"at_most": bar},
                "KGm": {"at_most": ours},
                **{name: {"at_least": 1.8 * ours} for name in ("Hyperband", "GP-EI", "random")},
            }
            rows.append(row(f"{who}, B={budget}: regret", by_budget[budget], **bars.get(who, {})))
        if who == "KGm":
            rows += [
                row(f"KGm − BHPT, B={b}: regret", list(np.subtract(by_budget[b], regret["BHPT"][b]))) for b in BUDGETS
            ]
    _picture("budgeted_tuning_1a", "normalised regret", lines)
    return rows


def figure_1b(options: Options) -> list[Row]:
    """How often the output is among the 1, 3 and 5 best of the 84 arms."""
    rows, lines = [], {}
    for who in METHODS:
        plays = _plays(who, _sets(options))
        lines[who] = [float(np.mean([p[1] < 5 for p in plays[b]])) for b in BUDGETS]
        for top in (1, 3, 5):
            for b in BUDGETS:
                bar = 0.95 if (who, top, b) == ("BHPT", 5, 100) else None
                rows.append(row(f"{who}, B={b}: among the best {top}", [p[1] < top for p in plays[b]], at_least=bar))
    _picture("budgeted_tuning_1b", "output among the best 5", lines)
    return rows


def figure_1c(options: Options) -> list[Row]:
    """The share of the budget that went to the output arm."""
    rows, lines = [], {}
    for who in METHODS:
        plays = _plays(who, _sets(options))
        lines[who] = [float(np.mean([p[2] for p in plays[b]])) for b in BUDGETS]
        rows += [row(f"{who}, B={b}: share", [p[2] for p in plays[b]]) for b in BUDGETS]
    _picture("budgeted_tuning_1c", "share of the budget on the output", lines)
    return rows


ALONE: dict[str, Method] = {
    "Q alone": BHPT(**KNOWN, rule="q-alone"),
    "Q-ε alone": BHPT(**KNOWN, rule="q-alone", epsilon=0.5),
}
LEARNED: dict[str, Method] = {
    "BHPT, slice sampling": BHPT(**{**KNOWN, "learn": "slice"}, rule="q"),
    "BHPT, likeliest": BHPT(**{**KNOWN, "learn": "ml"}, rule="q"),
}


# Where the curves are not drawn from the prior: a start that says nothing of the end, rougher and noisier.
WIDE: dict[str, Any] = {**TRUTH, "start_informs": False, "noise": 1e-2, "own": 1e-2, "form": "matern52"}


def _compared(options: Options, names: Iterable[str], picture: str) -> list[Row]:
    rows, lines = [], {}
    for who in names:
        plays = _plays(who, _sets(options))
        lines[who] = [float(np.mean([p[0] for p in plays[b]])) for b in BUDGETS]
        rows += [row(f"{who}, B={b}: regret", [p[0] for p in plays[b]]) for b in BUDGETS]
    _picture(picture, "normalised regret", lines)
    return rows


def figure_5a(options: Options) -> list[Row]:
    """Without the rule of budget exhaustion."""
    return _compared(options, ["BHPT", "BHPT-ε", *ALONE], "budgeted_tuning_5a")


def figure_5b(options: Options) -> list[Row]:
    """Parameters known, learned by slice sampling, and learned as the likeliest ones."""
    return _compared(options, ["BHPT", *LEARNED], "budgeted_tuning_5b")


def trap(options: Options) -> list[Row]:
    """Power-law curves with noise 0.1: parameters known wrongly, and learned; the bar is the better Hyperband."""
    sets = options.seeds or (3 if options.quick else 30)
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
        spent = _decision_costs(arms, scale, rule, (late if long else early) + 50)
        first = float(np.median(spent[early - 50 : early + 50]))
        rows.append(Row(f"{arms} arms, {rule}, {scale}, {early} readings: ms", first, at_most=bar))
        if long:
            last = float(np.median(spent[late - 50 : late + 50]))
            rows.append(Row(f"{arms} arms, {rule}, {scale}, {late} readings: ms", last, at_most=bar))
            rows.append(
                Row(f"{arms} arms, {rule}, {scale}: {late} readings against {early}", last / first, at_most=2.5)
            )
    return rows


def _decision_costs(arms: int, scale: str, rule: str, readings: int) -> list[float]:
    """Curves that only noise tells apart, so that the method keeps changing between arms."""
    rng = np.random.default_rng(0)
    curves = START - np.log(np.arange(1, UNITS + 1)) + rng.normal(size=(arms, 1)) + rng.normal(size=(arms, UNITS))
    table = CurveTable(rng.random((arms, 2)), curves, space={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    timed = Timed(BHPT(**{**KNOWN, "pool": arms, "scale": scale}, rule=rule))
    study = ss.Study(table.space, budget=ss.Budget(steps=readings), method=timed, max_resource=UNITS)
    study.run(table, executor=Simulated(1))
    return timed.milliseconds[1:]


def forecast_cost(options: Options) -> list[Row]:
    """CPU milliseconds of a decision of Forecast, with 2,000 candidates; medians of 100 decisions."""
    rng = np.random.default_rng(0)
    arms = 2000
    curves = START - np.log(np.arange(1, UNITS + 1)) + rng.normal(size=(arms, 1)) + rng.normal(size=(arms, UNITS))
    table = CurveTable(rng.random((arms, 2)), curves, space={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    timed = Timed(named("forecast"))
    study = ss.Study(
        table.space, budget=ss.Budget(steps=(10 if options.quick else 60) * UNITS), method=timed, max_resource=UNITS
    )
    study.run(table, executor=Simulated(1))
    places = [place for place in (100, 250, 600, 1200) if place + 50 <= len(timed.milliseconds)]
    return [
        Row(f"forecast, after {place} decisions: ms", float(np.median(timed.milliseconds[place - 50 : place + 50])))
        for place in places
    ]


def exactness(options: Options) -> list[Row]:
    """The belief against the joint Gaussian, and 8,000 readings one by one against all at once; largest differences."""
    rng = np.random.default_rng(0)
    points, times = rng.random((200, 2)), np.arange(1.0, UNITS + 1)
    counts = np.full(200, 40)
    belief = Belief(Parameters(**TRUTH), points, times)
    for arm in rng.permutation(np.repeat(np.arange(200), counts)):
        belief.observe(arm)
    refit = Belief(Parameters(**TRUTH), points, times, counts=counts)
    values = rng.normal(size=(200, UNITS))
    return [
        Row(
            "200 arms, 8,000 readings against a refit: covariance",
            float(np.abs(np.tril(belief.C - refit.C)).max()),
            at_most=1e-8,
        ),
        Row("the same: predictions", float(np.abs(belief.means(values) - refit.means(values)).max()), at_most=1e-8),
        *_against_joint(rng),
    ]


def _against_joint(rng: np.random.Generator) -> list[Row]:
    """300 readings of 20 arms, conditioned by solving the whole joint."""
    p, arms = Parameters(**TRUTH), 20
    points, t = rng.random((arms, 2)), np.arange(UNITS + 1.0)
    counts = rng.multinomial(300, np.full(arms, 1 / arms))
    values = rng.normal(size=(arms, UNITS))
    K_t = p.decay * (p.beta / (t[:, None] + t + p.beta)) ** p.alpha
    share = K_t[1:, 0] / K_t[0, 0]
    level, K_x = p.asymptotes(distances(points, points))
    smooth = np.kron(np.eye(arms), K_t[1:, 1:] - np.outer(share, K_t[0, 1:])) + np.kron(
        K_x, np.outer(1 - share, 1 - share)
    )
    read = np.concatenate([k * UNITS + np.arange(n) for k, n in enumerate(counts)])
    prior = np.tile(share * START, arms) + np.kron(level, 1 - share)
    noisy = smooth + p.noise * np.eye(len(smooth))
    gain = np.linalg.solve(noisy[np.ix_(read, read)], smooth[read]).T
    mean = prior + gain @ (values.ravel()[read] - prior[read])
    belief = Belief(p, points, t[1:], counts=counts)
    arms_to_come, places = np.array([(k, s) for k, n in enumerate(counts) for s in range(n, UNITS)]).T
    variance = np.diag(noisy - gain @ smooth[read]).reshape(arms, UNITS)[arms_to_come, places]
    apart = belief.means(values)[arms_to_come, places] - mean.reshape(arms, UNITS)[arms_to_come, places]
    apart_variance = belief.variances(arms_to_come, places + 1) - variance
    return [
        Row("20 arms, 300 readings against the joint: means", float(np.abs(apart).max()), at_most=1e-9),
        Row("the same: variances", float(np.abs(apart_variance).max()), at_most=1e-9),
    ]
