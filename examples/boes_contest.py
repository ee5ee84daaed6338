"""A batch of real experiments in every round, chosen by BOES within a time limit, as in a tuning contest.

The contest of chapter 4 of Shan Lu, On Applications of Multi-Armed Bandit and Bayesian Optimization Approaches for
AutoML Problems (MSc thesis, University of Alberta, 2021), on a real task: gradient boosting on scikit-learn's breast
cancer data. A suggestion that takes longer than the limit ends the run with an error.

    python examples/boes_contest.py                              # 4 rounds of 5 suggestions, about half a minute
    python examples/boes_contest.py --final --iterations 28      # one fold a step, early stopping by intervals

The contest's rules: 20 rounds of 5 suggestions, or, in the final, 140 iterations of 5 slots in which a configuration
reveals its accuracy on one more of 14 folds, with a 95 % interval, and counts only if it has all of them:

    python examples/boes_contest.py --rounds 20 --limit 30
    python examples/boes_contest.py --final --iterations 140 --limit 30

Your own experiments take the place of ``accuracy``: anything that returns a number, in this process or on a cluster.
Interrupt it and start it again: it continues.
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import shoestring as ss
from shoestring.errors import ShoestringError
from shoestring.samplers import BOES
from shoestring.schedulers import ConfidenceStop

SLOTS, FOLDS = 5, 14
SPACE = ss.space(
    rate=ss.log(1e-3, 1.0), trees=ss.ints(5, 40), depth=(1, 6), share=(0.2, 1.0), features=(0.1, 1.0), leaf=(1, 40)
)


@cache
def folds() -> tuple[Any, Any, list[Any]]:
    x, y = load_breast_cancer(return_X_y=True)
    return x, y, list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(x, y))


def accuracy(config: dict[str, Any], fold: int) -> float:
    """An experiment: train on all folds but one, and test on that."""
    x, y, parts = folds()
    train, test = parts[fold]
    model = GradientBoostingClassifier(
        learning_rate=config["rate"], n_estimators=config["trees"], max_depth=config["depth"],
        subsample=config["share"], max_features=config["features"], min_samples_leaf=config["leaf"], random_state=0,
    )  # fmt: skip
    return float(model.fit(x[train], y[train]).score(x[test], y[test]))


class Suggestions:
    """Asks a study for suggestions and checks how long each takes."""

    def __init__(self, study: ss.Study, limit: float) -> None:
        self.study, self.limit, self.longest = study, limit, 0.0

    def ask(self) -> ss.Grant | None:
        started = time.monotonic()
        grant = self.study.ask()
        seconds = time.monotonic() - started
        self.longest = max(self.longest, seconds)
        if seconds > self.limit:
            raise SystemExit(f"a suggestion took {seconds:.2f} s, and {self.limit:g} s are allowed: the round is lost")
        return grant


def preliminary(study: ss.Study, suggestions: Suggestions, pool: ThreadPoolExecutor, folds: int) -> None:
    """Rounds of five suggestions that are evaluated at once, and told together."""
    while grants := [grant for grant in (suggestions.ask() for _ in range(SLOTS)) if grant is not None]:
        running = [[pool.submit(accuracy, grant.config, fold) for fold in range(folds)] for grant in grants]
        for grant, parts in zip(grants, running, strict=True):
            study.tell(grant, float(np.mean([part.result() for part in parts])))


def final(study: ss.Study, suggestions: Suggestions, pool: ThreadPoolExecutor) -> None:
    """Iterations in which each of five slots reveals one more fold; a stopped configuration gives its slot free."""
    slots: list[ss.Grant] = []
    seen: dict[int, list[float]] = {}
    while True:
        while len(slots) < SLOTS and (grant := suggestions.ask()) is not None:
            slots.append(grant)
        if not slots:
            return
        running = [(grant, study.history.trials[grant.trial].step) for grant in slots]
        parts = [pool.submit(accuracy, grant.config, step) for grant, step in running]
        for (grant, step), part in zip(running, parts, strict=True):
            if grant.trial not in seen:  # new, or from before an interruption
                seen[grant.trial] = [accuracy(grant.config, fold) for fold in range(step)]
            seen[grant.trial].append(part.result())
            study.tell(grant, {step + 1: interval(seen[grant.trial])})
        slots = [grant for grant in slots if study.history.trials[grant.trial].state == "running"]


def interval(known: list[float]) -> ss.Reading:
    """The mean of the folds so far, with a 95 % interval for the mean of all of them."""
    mean, n = float(np.mean(known)), len(known)
    spread = float(np.std(known, ddof=1)) if n > 1 else 0.05
    half = 1.96 * max(spread, 0.01) * math.sqrt(1 / n - 1 / FOLDS)
    return ss.Reading(mean, low=mean - half, high=mean + half)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--final", action="store_true")
    parser.add_argument("--iterations", type=int, default=140, help="of the final")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for a suggestion")
    parser.add_argument("--folds", type=int, default=5, help="folds of an evaluation in the preliminary")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ours", action="store_true", help="our default options instead of the thesis's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--storage", default="boes_contest.db")
    given = parser.parse_args()
    if not 1 <= given.folds <= FOLDS or given.threads < 1:
        parser.error(f"--folds {given.folds} --threads {given.threads}: folds are 1 to {FOLDS}, threads at least 1")
    try:
        run(given)
    except ShoestringError as error:  # of the options or the storage
        parser.error(str(error))


def run(given: argparse.Namespace) -> None:
    """Play or continue the contest of these options; the name of its study has what its result depends on."""
    sampler = BOES() if given.ours else BOES.thesis()
    scheduler: Any = ConfidenceStop() if given.final else ss.schedulers.Full()
    budget = ss.Budget(steps=SLOTS * given.iterations) if given.final else ss.Budget(evaluations=SLOTS * given.rounds)
    study = ss.Study(
        SPACE, budget=budget, method=ss.compose(sampler, scheduler), mode="max", seed=given.seed,
        max_resource=FOLDS if given.final else None, storage=given.storage,
        name=f"{'final' if given.final else f'preliminary-{given.folds}'}{'-ours' if given.ours else ''}-{given.seed}",
    )  # fmt: skip
    suggestions = Suggestions(study, given.limit)
    with threadpool_limits(1), ThreadPoolExecutor(given.threads) as pool:  # experiments share the processor
        if given.final:
            final(study, suggestions, pool)
        else:
            preliminary(study, suggestions, pool, given.folds)
    complete = [trial for trial in study.trials if trial.step == (FOLDS if given.final else 1)]
    print(
        f"{len(study.trials)} suggestions, {len(complete)} of them complete; "
        f"the slowest took {suggestions.longest:.2f} s"
    )
    if not complete:
        raise SystemExit("no configuration is complete, so none counts: give more iterations")
    best = max(complete, key=lambda trial: trial.readings[trial.step].value)
    print(f"best accuracy {best.readings[best.step].value:.4f} with {best.config}")


if __name__ == "__main__":
    main()
