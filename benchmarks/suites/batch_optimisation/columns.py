"""Table 4.1 and the peers: who finds more in 20 rounds of 5, in the contest's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from scipy.stats import rankdata

from benchmarks.harness.common import Options
from benchmarks.harness.contests import Found, played, scores, tasks_of
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.tasks.black_boxes import Task
from shoestring.core.composition import compose
from shoestring.core.decisions import Method, Sampler
from shoestring.samplers import BOES, CMAES, TPE, GaussianProcess, Random
from shoestring.schedulers import Full

CANDIDATES = 96
ON_RANDOM = {"candidates": {"random": CANDIDATES}}

# Each column with the thesis's number. All choose among as many candidates.
COLUMNS: dict[str, tuple[Sampler, float | None]] = {
    "Random": (Random(), 0.1),
    "GP": (BOES.thesis(models=("gp",), **ON_RANDOM), 0.299),
    "RF": (BOES.thesis(models=("rf",), **ON_RANDOM), 0.488),
    "ET": (BOES.thesis(models=("et",), **ON_RANDOM), 0.631),
    "GBT": (BOES.thesis(models=("gbt",), **ON_RANDOM), 0.460),
    "Ensemble": (BOES.thesis(**ON_RANDOM), 0.718),
    "TPE": (TPE(), 0.459),
    "Ensemble + TPE": (BOES.thesis(candidates={"tpe": CANDIDATES}), 0.735),
    "BOES - Latin": (BOES.thesis(candidates={"tpe": CANDIDATES // 2, "cma": CANDIDATES // 2}), 0.768),
    "BOES + LocalSearch": (BOES.thesis(candidates={"tpe": 24, "cma": 24, "latin": 48, "local": 24}), 0.784),
    "BOES": (BOES.thesis(), 0.827),
    "boes, our default": (BOES(), None),
}
# The columns of the table by task.
MAIN = ("Random", "Ensemble", "TPE", "BOES", "boes, our default")
PEERS = ("Optuna TPE", "Optuna CMA-ES", "Optuna GP")
OURS: dict[str, Sampler] = {"boes, our default": BOES(), "TPE": TPE()}
SINGLE: dict[str, Sampler] = {"gp sampler": GaussianProcess(), "cmaes sampler": CMAES()}


def _methods(samplers: Mapping[str, Sampler]) -> dict[str, Method | None]:
    return {name: compose(sampler, Full()) for name, sampler in samplers.items()}


def ranks(by_method: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Per method, its rank on each task; 1 is best, ties share."""
    table = rankdata(-np.array(list(by_method.values())), axis=0)
    return dict(zip(by_method, table.tolist(), strict=True))


def table_4_1(options: Options) -> list[Row]:
    """Table 4.1: the mean contest score over the suite; errors are over tasks."""
    tasks, found = tasks_of(options), found_4_1(options)
    by_method = scores(found, tasks)
    rows = [row(name, by_method[name], paper=paper) for name, (_, paper) in COLUMNS.items()]
    for name in ("BOES", "boes, our default"):
        for other, bar, published in (("Random", 0.35, 0.727), ("TPE", 0.10, 0.368), ("Ensemble", 0.05, 0.109)):
            gaps = _gaps(by_method, name, other)
            rows.append(row(f"{name} - {other}", gaps, paper=published if name == "BOES" else None, at_least=bar))
    gaps = _gaps(by_method, "boes, our default", "BOES")
    rows += [row("our default - BOES", gaps), row("our default - BOES, selection tasks", gaps[::2])]
    rows.append(row("our default - BOES, held-out tasks", gaps[1::2], at_least=0.0))
    place = [task.name for task in tasks].index("data-2")
    for name in ("BOES", "boes, our default"):
        rows.append(row(f"{name} on data-2", [by_method[name][place]], at_least=0.80))
    return [*rows, *_cpu(found)]


def found_4_1(options: Options) -> Found:
    """The runs of Table 4.1, in the order of its columns."""
    tasks, seeds = tasks_of(options), options.seeds or 20
    return played(_methods({name: sampler for name, (sampler, _) in COLUMNS.items()}), tasks, seeds)


def figure(options: Options) -> list[Row]:
    """The rows of Table 4.1 as bars, the thesis's numbers as marks."""
    found, tasks = found_4_1(options), tasks_of(options)
    rows = [row(name, values, paper=COLUMNS[name][1]) for name, values in scores(found, tasks).items()]
    figure, axes = new_figure(1, 1, (8.4, 3.6))
    axis, at = axes[0, 0], np.arange(len(rows))
    axis.bar(at, [line.measured for line in rows], yerr=[line.error or 0.0 for line in rows], width=0.6, capsize=2)
    published = [(place, line.paper) for place, line in zip(at, rows, strict=True) if line.paper is not None]
    axis.plot(*zip(*published, strict=True), "k_", markersize=16, label="thesis, on other tables")
    axis.set_xticks(at, [line.name for line in rows], rotation=35, ha="right", fontsize=8)
    axis.set_ylabel("mean contest score, 34 tasks")
    axis.legend()
    saved(figure, "batch_optimisation_4_1", options)
    return rows


def _gaps(by_method: Mapping[str, Sequence[float]], name: str, other: str) -> list[float]:
    return [float(gap) for gap in np.subtract(by_method[name], by_method[other])]


def _cpu(found: Found) -> list[Row]:
    return [
        row(f"{name}: CPU seconds a run", [fmean(run.cpu for run in runs) for runs in by_task.values()])
        for name, by_task in found.items()
    ]


# Of the selection tasks, those on which not all variants always find the best: the others do not tell them apart.
UNSETTLED = (
    "data-2", "parkinsons_telemonitoring", "australian", "credit_g", "cifar10", "svm coil2000", "levy 8",
    "styblinski-tang 5, 21 values", "mixed", "hartmann 3, noise .2",
)  # fmt: skip
VARIANTS: dict[str, Sampler] = {
    "boes, our default": BOES(),
    "no input warping": BOES(warp=False),
    "no margin": BOES(margin=0.0),
    "neither": BOES(warp=False, margin=0.0),
    "with a random forest": BOES(models=("gp", "et", "rf")),
    "Gaussian process only": BOES(models=("gp",)),
    "10 initial configurations": BOES(startup=10),
}


def variants(options: Options) -> list[Row]:
    """Variants of the default, on those selection tasks that tell them apart."""
    tasks = [task for task in tasks_of(options)[::2] if options.quick or task.name in UNSETTLED]
    by_method = scores(played(_methods(VARIANTS), tasks, options.seeds or 10), tasks)
    rows = [row(name, values) for name, values in by_method.items()]
    return rows + [
        row(f"{name} - our default", _gaps(by_method, name, "boes, our default")) for name in [*by_method][1:]
    ]


def peers(options: Options) -> list[Row]:
    """Against Optuna's TPE and CMA-ES: mean contest score and mean rank over the suite."""
    tasks, names = tasks_of(options), PEERS[:2]
    found = played({**_methods(OURS), **dict.fromkeys(names)}, tasks, options.seeds or 20)
    return [*_against(found, names, tasks), *_cpu(found)]


def peers_gp(options: Options) -> list[Row]:
    """Against Optuna's GP, with few seeds, as it needs ten times the CPU; and with it by task, paired by seed."""
    tasks = tasks_of(options)
    found = played({**_methods({**OURS, **SINGLE}), **dict.fromkeys(PEERS)}, tasks, options.seeds or 3)
    others = [task for task in tasks if task.family != "schilling_svm"]
    return [
        *_against(found, PEERS, tasks),
        *(replace(line, name=f"without SVM tables, {line.name}") for line in _against(found, PEERS, others)),
        *(row(f"{task.name}: boes - Optuna GP", _seed_gaps(found, task)) for task in tasks),
        *_cpu(found),
    ]


def _seed_gaps(found: Found, task: Task) -> list[float]:
    """The default less Optuna's GP with each seed, in units of the score."""
    pairs = zip(found["boes, our default"][task.name], found["Optuna GP"][task.name], strict=True)
    return [(ours.result - theirs.result) / (task.best - task.reference) for ours, theirs in pairs]


def by_task(options: Options) -> list[Row]:
    """The contest score of each task: the main columns of Table 4.1 and Optuna's TPE and CMA-ES."""
    tasks, ours = tasks_of(options), {name: COLUMNS[name][0] for name in MAIN}
    by_method = scores(played({**_methods(ours), **dict.fromkeys(PEERS[:2])}, tasks, options.seeds or 20), tasks)
    return [row(f"{task.name}: {name}", [by_method[name][i]]) for i, task in enumerate(tasks) for name in by_method]


def _against(found: Found, names: Sequence[str], tasks: Sequence[Task]) -> list[Row]:
    by_method = scores(found, tasks)
    rows = [row(f"{name}: score", values) for name, values in by_method.items()]
    rows += [row(f"{name}: rank", values) for name, values in ranks(by_method).items()]
    for name in names:
        rows.append(row(f"boes - {name}: score", _gaps(by_method, "boes, our default", name), at_least=0.0))
    return rows
