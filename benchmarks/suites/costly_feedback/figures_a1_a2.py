"""Figures A1 and A2: the three problems of Table A1, and the average regret of each policy as the rounds go by."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.suites.costly_feedback.setting import bandit_problems, contenders_a1, regrets
from shoestring import online

ROUNDS = (100, 500, 1000, 2000)


def figure_a1(options: Options) -> list[Row]:
    """Figure A1: the rewards of the three arms; ours, because the paper only draws its own"""
    figure, panels = new_figure(1, 3, (3.6, 2.6), sharey=True)
    for panel, (name, rewards) in zip(panels[0], bandit_problems().items(), strict=True):
        panel.plot(rewards)
        panel.set(title=name, xlabel="round")
    saved(figure, "costly_feedback_figure_a1", options)
    return [Row(f"{name}: changes of the best arm", _changes(rewards)) for name, rewards in bandit_problems().items()]


def _changes(rewards: np.ndarray) -> int:
    return int((np.diff(rewards.argmax(axis=1)) != 0).sum())


def figure_a2(options: Options) -> list[Row]:
    """Figure A2: R_t / t of the policies of Table A1"""
    rows, (figure, panels) = list[Row](), new_figure(1, 3, (4.2, 3.2))
    for panel, (problem, rewards) in zip(panels[0], bandit_problems().items(), strict=True):
        for name, (policy, rule) in contenders_a1().items():
            seeds = range(options.seeds)
            tuners = [online.OnlineTuner([0, 1, 2], policy, rule, horizon=len(rewards), seed=seed) for seed in seeds]
            paths = [np.cumsum(regrets(tuner, rewards, seed)) for seed, tuner in zip(seeds, tuners, strict=True)]
            averages = np.array(paths) / np.arange(1, len(rewards) + 1)
            panel.plot(averages.mean(axis=0), label=name, linewidth=1)
            for t in ROUNDS:
                rows.append(row(f"{name}, {problem}, round {t}", averages[:, t - 1].tolist()))
        panel.set(title=problem, xlabel="round $t$", ylabel="$R_t / t$", ylim=(0, 0.6))
    panels[0, 0].legend(fontsize=7)
    saved(figure, "costly_feedback_figure_a2", options, dpi=80)
    return rows
