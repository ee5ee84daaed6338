"""Figures 2, 3 and 4: the average regret over the evaluations of one bracket of 27 arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import band, new_figure, saved
from benchmarks.suites.sub_sampling.bandit import Bandit, Play, play_rounds, play_study
from shoestring.schedulers import ASHA, AsyncSubSampling
from shoestring.schedulers.halving import SuccessiveHalving
from shoestring.schedulers.modified_sub_sampling import ModifiedSubSampling
from shoestring.schedulers.sub_sampling import SubSampling

ARMS = 27
SIGMAS = (0.01, 0.1, 1.0)
TOP = 3**9
BETAS = (0.0, 0.1, 1.0, 100.0)

Player = Callable[[Bandit], Play]
Panel = Mapping[str, Player]


def halving(eta: float = 3, top: int = TOP) -> Player:
    return lambda bandit: play_rounds(bandit, SuccessiveHalving(eta, replicate="fresh"), 1, top)


def sub_sampling(compare: str, eta: float = 3, top: int = TOP) -> Player:
    weights = "equal" if compare == "samples" else "budget"
    return lambda bandit: play_rounds(bandit, SubSampling(eta, weights=weights, compare=compare), 1, top)


def modified(beta: float = 0.1, top: int = TOP, weights: str = "budget") -> Player:
    return lambda bandit: play_rounds(bandit, ModifiedSubSampling(3, beta=beta, weights=weights), 1, top)


def asynchronous_halving(top: int) -> Player:
    return lambda bandit: play_study(bandit, ASHA(replicate="fresh"), top)


def asynchronous(beta: float, top: int) -> Player:
    return lambda bandit: play_study(bandit, AsyncSubSampling(beta=beta, weights="budget"), top)


def _three(**setting: int) -> Panel:
    return {
        "SH": halving(**setting),
        "SS by samples": sub_sampling("samples", **setting),
        "SS by evaluations": sub_sampling("evaluations", **setting),
    }


def figure_2(options: Options) -> list[Row]:
    """Figure 2: final average regret of SH and SS for three η; R = 3⁹, K = 27."""
    return _drawn("sub_sampling_2", {f"η={eta}": _three(eta=eta) for eta in (2, 3, 4)}, options)


def figure_3(options: Options) -> list[Row]:
    """Figure 3: final average regret of SH and SS for three largest budgets; η = 3, K = 27."""
    return _drawn("sub_sampling_3", {f"R=3^{power}": _three(top=3**power) for power in (5, 7, 9)}, options)


def figure_4(options: Options) -> list[Row]:
    """Figure 4: final average regret of SH, ASHA, SS, MSS and AMSS, and the effect of β; η = 3, R = 3⁶, K = 27."""
    top = 3**6
    panels = {
        "methods": {
            "SH": halving(top=top),
            "ASHA": asynchronous_halving(top),
            "SS": sub_sampling("samples", top=top),
            "MSS": modified(top=top),
            "AMSS": asynchronous(0.1, top),
        },
        "MSS": {f"β={beta:g}": modified(beta, top) for beta in BETAS}
        | {"β=0.1, equal weights": modified(top=top, weights="equal")},
        "AMSS": {f"β={beta:g}": asynchronous(beta, top) for beta in BETAS},
    }
    return _drawn("sub_sampling_4", panels, options)


def _drawn(name: str, panels: Mapping[str, Panel], options: Options) -> list[Row]:
    """Two pictures with a row a panel and a column a σ; the rows of numbers are where the curves end.

    The average is over evaluations, then over the samples that they rest on.
    """
    runs = options.seeds or (5 if options.quick else 50)
    plays = {
        (panel, sigma, who): [player(Bandit(ARMS, sigma, seed)) for seed in range(runs)]
        for panel, players in panels.items()
        for sigma in SIGMAS
        for who, player in players.items()
    }
    return [*_picture(name, plays, False, options), *_picture(f"{name}_by_budget", plays, True, options)]


def _picture(
    name: str, plays: Mapping[tuple[str, float, str], Sequence[Play]], by_budget: bool, options: Options
) -> list[Row]:
    panels = list(dict.fromkeys(panel for panel, _, _ in plays))
    figure, axes = new_figure(len(panels), len(SIGMAS))
    measure = "average regret by budget" if by_budget else "average regret"
    rows = []
    for (panel, sigma, who), runs in plays.items():
        axis = axes[panels.index(panel), SIGMAS.index(sigma)]
        curves = [play.average_regret(by_budget) for play in runs]
        band(axis, who, curves)
        axis.set(title=f"{panel}, σ={sigma:g}", xlabel="evaluations", ylabel=measure, ylim=(-0.2, 1.0))
        axis.legend(fontsize="small")
        rows.append(row(f"{panel}, σ={sigma:g}, {measure}: {who}", [float(curve[-1]) for curve in curves]))
    saved(figure, name, options)
    return rows
