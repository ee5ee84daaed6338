"""Table 1 and Figures 3, A3 and A4 (2020: Table A3, Figures A4 to A6) in kind: schedules of a self-tuning network.

The network, its data and its two arms are those of ``examples/self_tuning_network.py``. Static schedules tune in one
round of n; the switching one tunes in every round and, in the last third, in every second. Grid search runs the static
schedules and takes the best by its validation loss, so its time is that of all of them. Bandits look by chance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from shoestring import online
from shoestring.integrations.training import OnlineTraining

ROUNDS = 100
TRAIN, TUNE = "train only", "tune and train"
STATIC = {f"static: tune in one round of {n}": n for n in (1, 2, 4)} | {"static: never tune": 0}
TUNED = "static: tune in one round of 1"
WHAT = ("validation loss", "validation accuracy", "test loss", "test accuracy", "seconds", "looks", "tuned")
SHOWN = (TUNED, "switching", "GP-UCB, Ber(0.2)", "CE-GP-UCB, κ=0.7")


@cache
def example() -> Any:
    """The example as a module; it needs torch."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    import self_tuning_network
    import torch

    torch.set_num_threads(1)
    return self_tuning_network


@dataclass(frozen=True)
class Schedule:
    """A schedule that is fixed in advance: whether to tune in a round."""

    tunes: Callable[[int], bool]


def contenders() -> dict[str, Any]:
    """Schedules, or pairs of a policy and a look rule."""
    every = {name: Schedule(lambda t, n=n: bool(n) and t % n == 0) for name, n in STATIC.items()}  # type: ignore[misc]
    every["switching"] = Schedule(lambda t: t < 2 * ROUNDS // 3 or t % 2 == 0)
    policies = {
        "EXP3.R": online.EXP3R(low=-2.0, high=2.0),
        "ε-greedy": online.EpsilonGreedy(0.1, step=0.2),
        "Softmax": online.Softmax(0.5, step=0.2),
        "UCB": online.UCB1(),
        "GP-UCB": online.TVGPUCB(forgetting=0.01),
    }
    found: dict[str, Any] = dict(every)
    for p in (0.1, 0.2):
        found |= {f"{name}, Ber({p})": (policy, online.Bernoulli(p)) for name, policy in policies.items()}
    looks = {"GP-UCB, full feedback": online.Always(), "GP-UCB, Ber(0.5)": online.Bernoulli(0.5)}
    looks |= {"GP-UCB, Exactly(50)": online.Exactly(50)}
    looks |= {f"CE-GP-UCB, κ={kappa}": online.Confident(kappa) for kappa in (0.7, 0.8)}
    return found | {name: (policies["GP-UCB"], look) for name, look in looks.items()}


def played(name: str, seed: int) -> dict[str, Any]:
    """The numbers of ``WHAT`` at the end, and after every tenth round the validation loss and the hyper-parameters."""
    how, module = contenders()[name], example()
    trainer, started = module.Trainer(seed), time.process_time()
    policy, look = (None, None) if isinstance(how, Schedule) else how
    tuner = policy and online.OnlineTuner(module.ARMS, policy, look, horizon=ROUNDS, seed=seed, clip=(-2.0, 2.0))
    training = tuner and OnlineTraining(tuner, measure=lambda: trainer.accuracy(trainer.valid), scale=100.0)
    tuned, curve, spent = 0, list[list[float]](), 0.0
    for t in range(ROUNDS):
        arm = training.begin() if training else (TUNE if how.tunes(t) else TRAIN)
        trainer.round(arm)
        tuned += arm == TUNE
        if training:
            training.end()
        if t % 10 == 9:  # not part of the method, so not part of its time
            spent += time.process_time() - started
            curve.append([_loss(trainer, trainer.valid), *_hyper(trainer)])
            started = time.process_time()
    values = [_loss(trainer, trainer.valid), trainer.accuracy(trainer.valid), _loss(trainer, trainer.test)]
    values += [trainer.accuracy(trainer.test), spent, tuner.looks if tuner else 0, tuned / ROUNDS]
    return {**dict(zip(WHAT, values, strict=True)), "curve": curve}


def _loss(trainer: Any, split: Any) -> float:
    import torch

    with torch.no_grad():
        scores = trainer.net(split.x, trainer.net.hyper.expand(len(split.y), -1))
        return float(torch.nn.functional.cross_entropy(scores, split.y))


def _hyper(trainer: Any) -> list[float]:
    import torch

    return [float(value) for value in torch.sigmoid(trainer.net.hyper.detach()).ravel() * example().LARGEST]


def table(options: Options) -> list[Row]:
    """Table 1: a self-tuning network under fixed, switching and online schedules; time over that of never tuning"""
    names = list(contenders())[:: 6 if options.quick else 1]
    seeds = range(1 if options.quick else min(options.seeds, 10))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for seed in seeds:  # the outer loop, so that a run that is cut short has whole seeds
        for name in names:
            found[name].append(runs().get(key("self-tuning network", seed, name), lambda: played(name, seed)))  # noqa: B023
    if not options.quick:
        found["grid search"] = [_grid([found[name][i] for name in STATIC]) for i in range(len(seeds))]
        _draw(found, options)
    plain = np.mean([run["seconds"] for run in found.get("static: never tune", found[names[0]])])
    rows = []
    for name, results in found.items():
        for what in WHAT:
            scale = 1 / plain if what == "seconds" else 1.0
            rows.append(row(f"{name}: {what}", [float(scale * run[what]) for run in results]))
        if name != TUNED and not options.quick:
            pairs = zip(results, found[TUNED], strict=True)
            rows.append(
                row(f"{name} − always: test accuracy", [a["test accuracy"] - b["test accuracy"] for a, b in pairs])
            )
    return rows


def _grid(results: list[dict[str, Any]]) -> dict[str, Any]:
    best = min(results, key=lambda run: run["validation loss"])
    return {**best, "seconds": sum(run["seconds"] for run in results)}


def _draw(found: dict[str, list[dict[str, Any]]], options: Options) -> None:
    names = ("dropout 1", "dropout 2", "geometry", "brightness", "noise")
    figure, panels = new_figure(2, 3, (3.6, 2.8))
    for name in SHOWN:
        mean = np.mean([run["curve"] for run in found[name]], axis=0)
        for panel, values, title in zip(panels.flat, mean.T, ("validation loss", *names), strict=True):
            panel.plot(range(10, ROUNDS + 1, 10), values, marker="o", ms=2, label=name)
            panel.set(title=title, xlabel="round")
    panels[0, 0].legend(fontsize=6)
    saved(figure, "costly_feedback_figure_3", options, dpi=80)
