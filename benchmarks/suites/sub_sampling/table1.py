"""Table 1: how often the best arm is found."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.sub_sampling.bandit import Bandit, Play, play_rounds
from shoestring.schedulers.brackets import Bracket
from shoestring.schedulers.halving import SuccessiveHalving, quota
from shoestring.schedulers.sub_sampling import SubSampling

Setting = tuple[int, float]
Player = Callable[[Bandit], Play]
SIGMAS = (0.01, 0.1, 1.0)
SETTINGS = [(arms, sigma) for arms in (27, 54) for sigma in SIGMAS]
PAPER_SH = dict(zip(SETTINGS, (100, 76, 24, 100, 62, 18), strict=True))
PAPER_SS = dict(zip(SETTINGS, (100, 100, 100, 100, 100, 88), strict=True))
RANGE_SH = {(27, 0.1): (71, 83), (27, 1.0): (11, 21), (54, 0.1): (62, 75), (54, 1.0): (8, 18)}
LEAST_SS = dict(zip(SETTINGS, (98, 98, 95, 98, 97, 86), strict=True))
LEAST_BY_EVALUATIONS = {(27, 1.0): 73, (54, 1.0): 62}
TOP = 3**9


def halving(bandit: Bandit, first: int = 1) -> Play:
    """Successive halving over 3 halvings, as ⌊log_3 K⌋ is for both K."""
    return play_rounds(bandit, SuccessiveHalving(replicate="fresh"), first, 27 * first)


def halving_at(bandit: Bandit, total: int) -> Play:
    """The same with the first budget that makes its total budget as near to another's as it gets from below."""
    rule, bracket = SuccessiveHalving(), Bracket(bandit.arms, 1, 27)
    unit = sum(quota(bandit.arms, turn, rule.eta) * (rule.budget(bracket, turn) or 0) for turn in range(4))
    return halving(bandit, max(1, total // unit))


def by_samples(bandit: Bandit) -> Play:
    return play_rounds(bandit, SubSampling(compare="samples"), 1, TOP)


def by_evaluations(bandit: Bandit) -> Play:
    """Fourteen rounds with evaluations weighted by their budget."""
    return play_rounds(bandit, SubSampling(weights="budget"), 1, 3**14)


def table(options: Options) -> list[Row]:
    """Table 1: per cent of runs in which the best arm is selected."""
    seeds = options.seeds or (10 if options.quick else 100)
    rows = [_halving(setting, 5 * seeds) for setting in SETTINGS]
    for setting in SETTINGS:
        rows += _sub_sampling("SS by samples", by_samples, setting, seeds, PAPER_SS, LEAST_SS)
    for setting in SETTINGS:
        rows += _sub_sampling("SS by evaluations", by_evaluations, setting, 2 * seeds, {}, LEAST_BY_EVALUATIONS)
    return rows


def _named(what: str, setting: Setting) -> str:
    return f"{what}, K={setting[0]}, σ={setting[1]:g}"


def _halving(setting: Setting, runs: int) -> Row:
    bandits = [Bandit(*setting, seed) for seed in range(runs)]
    hits = [100.0 * (halving(bandit).last_winner() == bandit.best) for bandit in bandits]
    low, high = RANGE_SH.get(setting, (None, None))
    return row(_named("SH", setting), hits, paper=PAPER_SH[setting], at_least=low, at_most=high)


def _sub_sampling(
    what: str, play: Player, setting: Setting, runs: int, paper: dict[Setting, int], least: dict[Setting, int]
) -> list[Row]:
    """Sub-sampling, what it spent, and successive halving with as much."""
    hits, totals, hits_of_halving = [], [], []
    for seed in range(runs):
        bandit = Bandit(*setting, seed)
        run = play(bandit)
        hits.append(100.0 * (run.lowest_mean() == bandit.best))
        totals.append(float(run.total))
        hits_of_halving.append(100.0 * (halving_at(bandit, run.total).last_winner() == bandit.best))
    return [
        row(_named(what, setting), hits, paper=paper.get(setting), at_least=least.get(setting)),
        row(_named(f"{what}, total budget", setting), totals),
        row(_named(f"SH with the budget of {what}", setting), hits_of_halving),
    ]
