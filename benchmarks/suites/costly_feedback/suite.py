"""Online tuning with costly feedback: Tables A1 and A2, Figures 1 and A3 of Wang et al. (2020, 2021).

Also what is beyond the papers (``--table rules``) and what a round costs (``--table cost``).

    python benchmarks/costly_feedback.py --table A2 --seeds 50
    python benchmarks/costly_feedback.py --table A1 --seeds 100
    python benchmarks/costly_feedback.py --table rules --seeds 40
    python benchmarks/costly_feedback.py --table cost
    python benchmarks/costly_feedback.py --table 1 --seeds 3         # the self-tuning network and Figure 3; needs torch
    python benchmarks/costly_feedback.py --table 1-dense --seeds 40  # five of its schedules; needs torch
    python benchmarks/costly_feedback.py --table 2 --seeds 10        # contrastive learning; needs torch
    python benchmarks/costly_feedback.py --table quotas --seeds 10   # two quotas, L_T, and the bounds of the theorems
    python benchmarks/costly_feedback.py --table lcb-ucb --seeds 200 # the rule that is sure of its choice
    python benchmarks/costly_feedback.py --figure 1 --seeds 20
    python benchmarks/costly_feedback.py --figure A2 --seeds 5       # also A1
    python benchmarks/costly_feedback.py --figure A3

Every number is a mean over runs with seeds 0 … N−1; rules are compared on the same paths and the same noise.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness.common import Options, main
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.suites.costly_feedback import bounds, contrastive, figures_a1_a2, self_tuning
from benchmarks.suites.costly_feedback.setting import (
    GRID,
    NOISE,
    RATES,
    ROUNDS,
    Array,
    Contenders,
    bandit_problems,
    contenders_a1,
    known,
    moving_function,
    on_the_same_paths,
    play,
)
from shoestring import online
from shoestring.core.randomness import generator
from shoestring.models.kernels import Kernel
from shoestring.models.time_varying import Forgetting, Readings, TimeVaryingProcess, posterior

# Table A2, R_T/T and C_T, by the five forgetting rates.
PAPER_A2: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "R-GP-UCB": ((0.352, 0.371, 0.425, 0.516, 0.581), (499,) * 5),
    "TV-GP-UCB": ((0.094, 0.126, 0.184, 0.305, 0.392), (499,) * 5),
    "Ber(0.2)": ((0.231, 0.275, 0.350, 0.561, 0.694), (99, 99, 97, 100, 100)),
    "Ber(0.3)": ((0.176, 0.218, 0.312, 0.485, 0.592), (147, 150, 144, 150, 153)),
    "Ber(0.4)": ((0.147, 0.186, 0.275, 0.428, 0.522), (200, 200, 201, 203, 203)),
    "Ber(0.5)": ((0.121, 0.160, 0.241, 0.382, 0.480), (247, 249, 252, 249, 250)),
    "Ber(0.6)": ((0.119, 0.144, 0.230, 0.363, 0.452), (296, 300, 298, 298, 298)),
    "Ber(0.7)": ((0.112, 0.151, 0.209, 0.335, 0.429), (348, 348, 348, 350, 350)),
    "Ber(0.8)": ((0.102, 0.140, 0.198, 0.328, 0.415), (401, 399, 399, 400, 400)),
    "Ber(0.9)": ((0.098, 0.132, 0.196, 0.311, 0.404), (450, 449, 448, 448, 449)),
    "κ=0.60": ((0.535, 0.558, 0.600, 0.642, 0.680), (8, 12, 20, 53, 85)),
    "κ=0.70": ((0.410, 0.435, 0.442, 0.504, 0.533), (16, 21, 41, 91, 134)),
    "κ=0.75": ((0.341, 0.367, 0.368, 0.441, 0.484), (22, 34, 62, 117, 167)),
    "κ=0.80": ((0.286, 0.297, 0.304, 0.387, 0.451), (31, 51, 76, 146, 200)),
    "κ=0.85": ((0.226, 0.248, 0.266, 0.356, 0.416), (51, 78, 101, 180, 235)),
    "κ=0.90": ((0.188, 0.202, 0.238, 0.322, 0.400), (82, 101, 140, 233, 291)),
    "κ=0.95": ((0.157, 0.161, 0.210, 0.307, 0.397), (125, 163, 207, 310, 371)),
    "κ=0.99": ((0.112, 0.128, 0.176, 0.295, 0.386), (292, 309, 363, 435, 468)),
    "LCB–UCB": ((0.103, 0.126, 0.168, 0.292, 0.384), (386, 414, 442, 482, 492)),
}

# Table A1, R_T/T and C_T, by problem.
PAPER_A1: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "EXP3.S": ((0.384, 0.257, 0.437), (201, 200, 201)),
    "ε-greedy": ((0.167, 0.145, 0.196), (198, 200, 199)),
    "Softmax": ((0.132, 0.159, 0.256), (199, 201, 198)),
    "UCB": ((0.084, 0.112, 0.172), (200, 201, 202)),
    "GP-UCB": ((0.104, 0.139, 0.122), (200, 200, 201)),
    "CE-GP-UCB": ((0.017, 0.038, 0.028), (52, 53, 52)),
}


def contenders_a2(rate: float) -> Contenders:
    policy = known(rate)
    restarting = online.RGPUCB("matern32", lengthscale=0.2, noise=NOISE, forgetting=rate)
    slower = online.RGPUCB("matern32", lengthscale=0.2, noise=NOISE, block=round(4 / rate))
    full = {"R-GP-UCB": restarting, "R-GP-UCB, block 4/ε": slower, "TV-GP-UCB": policy}
    rows: Contenders = {name: (each, online.Always()) for name, each in full.items()}
    rows |= {f"Ber({p})": (policy, online.Bernoulli(p)) for p in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
    rows |= {f"κ={k:.2f}": (policy, online.Confident(k)) for k in (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)}
    return rows | {"LCB–UCB": (policy, online.Disjoint())}


# Ranges for numbers of Table A2, most of them around the paper's value; and how much regret a rule may add.
RANGES = {
    ("TV-GP-UCB", 0.003, "regret"): (0.075, 0.113),
    ("TV-GP-UCB", 0.01, "regret"): (0.156, 0.212),
    ("TV-GP-UCB", 0.05, "regret"): (0.361, 0.423),
    ("κ=0.60", 0.05, "looks"): (55, 110),
    ("κ=0.90", 0.003, "looks"): (40, 130),
    ("κ=0.90", 0.05, "looks"): (247, 335),
    ("κ=0.99", 0.003, "looks"): (220, 380),
    ("κ=0.99", 0.05, "looks"): (449, 487),
    ("LCB–UCB", 0.05, "looks"): (482, 502),
}
RATIOS = {("κ=0.99", rate): 1.2 for rate in RATES} | {("κ=0.90", 0.05): 1.08, ("κ=0.90", 0.003): 2.3}


def table_a2(options: Options) -> list[Row]:
    """Table A2: regret R_T/T and looks C_T on a moving function, 500 rounds"""
    rows, means = [], dict[tuple[str, float], Array]()
    for rate, name, found in on_the_same_paths(contenders_a2, (0.05,) if options.quick else RATES, options.seeds):
        found[:, 1] -= 1  # the paper counts 499 looks of 500: the first, random one is not counted
        means[name, rate], place = found.mean(axis=0), RATES.index(rate)
        for quantity, values, published in zip(("regret", "looks"), found.T, PAPER_A2.get(name, ((), ())), strict=True):
            low, high = RANGES.get((name, rate, quantity), (None, None))
            paper = published[place] if published else None
            what = f"{name}, ε={rate}, {quantity}"
            rows.append(row(what, values.tolist(), paper=paper, at_least=low, at_most=high))
    for (name, rate), (regret, _) in means.items():
        if name.startswith(("κ", "LCB")):
            published, full = (PAPER_A2[who][0][RATES.index(rate)] for who in (name, "TV-GP-UCB"))
            ratio = float(regret / means["TV-GP-UCB", rate][0])
            limit = RATIOS.get((name, rate))
            what = f"{name}, ε={rate}, regret over TV-GP-UCB's"
            rows.append(Row(what, ratio, paper=published / full, at_most=limit))
    return [*rows, Row("times that looks fall as κ rises", _falls(means), at_most=0)]


def _falls(means: Mapping[tuple[str, float], Array]) -> int:
    falls = 0
    for rate in {rate for _, rate in means}:
        rising = [looks for (name, at), (_, looks) in means.items() if at == rate and name.startswith("κ")]
        falls += sum(after < before for before, after in pairwise(rising))
    return falls


SPENT = (50, 100, 250)


def contenders_rules(rate: float) -> Contenders:
    policy = known(rate)
    rows: Contenders = {
        "TV-GP-UCB": (policy, online.Always()),
        "κ=0.95": (policy, online.Confident(0.95)),
        "κ=0.95, greedy when blind": (policy, online.Confident(0.95, greedy_when_blind=True)),
        "ExpectedLoss(0.05)": (policy, online.ExpectedLoss(0.05)),
        "ExpectedLoss(0.04)": (policy, online.ExpectedLoss(0.04)),
        "ExpectedLoss(0.05), greedy when blind": (policy, online.ExpectedLoss(0.05, greedy_when_blind=True)),
    }
    for n in SPENT:
        rows |= {
            f"Bernoulli, {n} looks": (policy, online.Bernoulli(n / ROUNDS)),
            f"Bernoulli, {n} looks, greedy when blind": (policy, online.Bernoulli(n / ROUNDS, greedy_when_blind=True)),
            f"Exactly({n})": (policy, online.Exactly(n, greedy_when_blind=False)),
            f"Exactly({n}), greedy when blind": (policy, online.Exactly(n)),
        }
    return rows


def table_rules(options: Options) -> list[Row]:
    """Beyond the papers: ExpectedLoss, Exactly, and playing the best mean when blind"""
    rows, means = [], dict[tuple[str, float], tuple[float, float]]()
    rates = (0.05,) if options.quick else RATES
    for rate, name, found in on_the_same_paths(contenders_rules, rates, options.seeds):
        means[name, rate] = found[:, 0].mean(), found[:, 1].mean()
        rows.append(row(f"{name}, ε={rate}, regret", found[:, 0].tolist()))
        rows.append(row(f"{name}, ε={rate}, looks", found[:, 1].tolist()))
    for rate in rates:
        loss, rule = (np.array(means[name, rate]) for name in ("ExpectedLoss(0.05)", "κ=0.95"))
        rows.append(Row(f"ε={rate}: regret of ExpectedLoss over κ=0.95's", float(loss[0] / rule[0])))
        rows.append(Row(f"ε={rate}: looks of ExpectedLoss over κ=0.95's", float(loss[1] / rule[1]), at_most=0.9))
        for n in SPENT:
            for how in ("", ", greedy when blind"):
                ratio = means[f"Exactly({n}){how}", rate][0] / means[f"Bernoulli, {n} looks{how}", rate][0]
                rows.append(Row(f"ε={rate}: regret of Exactly({n}) over Bernoulli's{how}", ratio, at_most=1))
    return rows


def table_a1(options: Options) -> list[Row]:
    """Table A1: three independent arms whose rewards move, 2,000 rounds"""
    rows = []
    for position, (problem, rewards) in enumerate(bandit_problems().items()):
        regrets = {}
        for name, (policy, rule) in contenders_a1().items():
            tuners = [online.OnlineTuner([0, 1, 2], policy, rule, horizon=2000, seed=s) for s in range(options.seeds)]
            found = np.array([play(tuner, rewards, seed) for seed, tuner in enumerate(tuners)])
            ours, regrets[name] = name == "CE-GP-UCB", found[:, 0].mean()
            for column, (quantity, bar) in enumerate({"regret": 0.05, "looks": 200}.items()):
                paper = PAPER_A1[name][column][position] if name in PAPER_A1 else None
                at_most = bar if ours else None
                rows.append(
                    row(f"{name}, {problem}, {quantity}", found[:, column].tolist(), paper=paper, at_most=at_most)
                )
        rows.append(
            Row(f"{problem}: regret over GP-UCB's by chance", regrets["CE-GP-UCB"] / regrets["GP-UCB"], at_most=1)
        )
    return rows


def table_cost(options: Options) -> list[Row]:
    """CPU milliseconds of ask and tell, every round looked at, on 1,000 arms at ε = .01"""
    tuner = online.OnlineTuner(GRID, known(0.01), online.Always(), seed=0)
    draws = generator(0, 0, "readings").standard_normal(60_000)
    looks: list[tuple[int, float]] = []
    rows = []
    for middle in (2_000,) if options.quick else (2_000, 50_000):
        for t in range(len(looks), middle - 500):
            looks.append((_one_round(tuner, draws[t]), draws[t]))
        start = time.process_time()
        for t in range(middle - 500, middle + 500):
            looks.append((_one_round(tuner, draws[t]), draws[t]))
        each = (time.process_time() - start) / 1000 * 1e3
        rows.append(Row(f"a round around round {middle:,}, ms", each, n=1000, at_most=1))
    if not options.quick:
        change = abs(rows[1].measured / rows[0].measured - 1)
        rows.append(Row("change from the one to the other, as a fraction", change, at_most=0.3))
    refit = _refit_milliseconds(looks[:2_000])
    rows.append(Row("refitting at 2,000 looks, ms", refit, n=3))
    return [*rows, Row("refitting over a round", refit / rows[0].measured, n=3, at_least=50)]


def _one_round(tuner: online.OnlineTuner, value: float) -> int:
    arm = tuner.ask().arm
    assert arm is not None
    tuner.tell(value)
    return arm


def _refit_milliseconds(looks: list[tuple[int, float]]) -> float:
    """The posterior on the grid from all looks, by a Cholesky factorisation; the fastest of three."""
    process = TimeVaryingProcess(Kernel("matern32", 0.2), Forgetting(0.01), NOISE)
    points, values = GRID[[arm for arm, _ in looks]], np.array([value for _, value in looks])
    taken = []
    for _ in range(3):
        start = time.process_time()
        posterior(process, Readings(points, np.arange(1.0, len(looks) + 1), values), GRID, len(looks) + 1)
        taken.append((time.process_time() - start) * 1e3)
    return min(taken)


def contenders_figure_1(rate: float) -> Contenders:
    restarting = online.RGPUCB("matern32", lengthscale=0.2, noise=NOISE, forgetting=rate)
    families = {
        "TV-GP-UCB, Bernoulli": known(rate),
        "R-GP-UCB, Bernoulli": restarting,
        "EI, Bernoulli": known(rate, acquisition="ei"),
        "PI, Bernoulli": known(rate, acquisition="pi"),
    }
    rows: Contenders = {
        f"{name} {p}": (policy, online.Bernoulli(p))
        for name, policy in families.items()
        for p in (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
    }
    rows |= {f"CE-GP-UCB {k}": (known(rate), online.Confident(k)) for k in (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)}
    rows |= {f"ExpectedLoss {x}": (known(rate), online.ExpectedLoss(x)) for x in (0.3, 0.15, 0.08, 0.05, 0.02)}
    return rows | {f"Exactly, greedy {n}": (known(rate), online.Exactly(n)) for n in (25, 50, 100, 200, 350)}


def figure_1(options: Options) -> list[Row]:
    """Figure 1: the trade-off between regret and looks"""
    rates = (0.05,) if options.quick else (0.003, 0.01, 0.05)
    figure, panels = new_figure(1, len(rates), (5, 4))
    rows, lines = [], dict[tuple[float, str], list[tuple[float, float]]]()
    for rate, name, found in on_the_same_paths(contenders_figure_1, rates, options.seeds):
        rows.append(row(f"{name}, ε={rate}, regret", found[:, 0].tolist()))
        rows.append(row(f"{name}, ε={rate}, looks", found[:, 1].tolist()))
        lines.setdefault((rate, name.rsplit(" ", 1)[0]), []).append((found[:, 1].mean(), found[:, 0].mean()))
    for (rate, family), points in lines.items():
        dashed = "--" if "Bernoulli" in family else "-"
        axes = panels[0][rates.index(rate)]
        axes.plot(*zip(*sorted(points), strict=True), dashed, marker="o", markersize=3, label=family)
        axes.set(title=f"ε = {rate}", xlabel="looks $C_T$", ylabel="regret $R_T/T$")
    panels[0][0].legend(fontsize=7)
    saved(figure, "costly_feedback_figure_1", options, dpi=90)
    return rows


def figure_a3(options: Options) -> list[Row]:
    """Figure A3: the model at the last round, ε = .03, with full feedback, by chance, and when not confident"""
    rewards, rows = moving_function(0, 0.03), list[Row]()
    by_chance, unsure = online.Bernoulli(0.5), online.Confident(0.9)
    rules = {"TV-GP-UCB": online.Always(), "Bernoulli(0.5)": by_chance, "CE-GP-UCB, κ=0.9": unsure}
    figure, panels = new_figure(1, 3, (5, 4), sharey=True)
    for axes, (name, rule) in zip(panels[0], rules.items(), strict=True):
        tuner = online.OnlineTuner(GRID, known(0.03), rule, horizon=ROUNDS, seed=0)
        regret, looks = play(tuner, rewards, 0)
        rows += [Row(f"{name}, regret", regret), Row(f"{name}, looks", looks - 1)]
        _draw_model(axes, tuner, rewards)
        axes.set(title=f"{name}: regret {regret:.2f}, {looks - 1} looks", xlabel="x")
    panels[0, 0].legend(fontsize=7)
    saved(figure, "costly_feedback_figure_a3", options, dpi=90)
    return rows


def _draw_model(axes: Any, tuner: online.OnlineTuner, rewards: Array) -> None:
    shown, x = tuner.plot_data(), GRID[:, 0]
    axes.fill_between(x, shown.mean - shown.half_width, shown.mean + shown.half_width, color="0.88", label="μ ± √β σ")
    axes.plot(x, rewards[-1], "b-", label="truth now")
    axes.plot(x, shown.mean, "r--", label="posterior mean")
    recent = range(len(shown.arms) - 60, len(shown.arms))
    for looked, colour in ((True, "purple"), (False, "green")):
        chosen = [t for t in recent if shown.looked[t] == looked]
        if not chosen:
            continue
        fade = [0.15 + 0.85 * (t - recent[0]) / len(recent) for t in chosen]
        arms = [shown.arms[t] for t in chosen]
        axes.scatter(x[arms], [rewards[t, a] for t, a in zip(chosen, arms, strict=True)], c=colour, alpha=fade, s=12)


TABLES = {
    "1": self_tuning.table,
    "1-dense": self_tuning.dense,
    "2": contrastive.table,
    "A1": table_a1,
    "A2": table_a2,
    "lcb-ucb": bounds.lcb_ucb,
    "quotas": bounds.table,
    "rules": table_rules,
    "cost": table_cost,
}
FIGURES = {"1": figure_1, "A1": figures_a1_a2.figure_a1, "A2": figures_a1_a2.figure_a2, "A3": figure_a3}


def run() -> None:
    main(__doc__, TABLES, FIGURES, seeds=50)
