"""Augmentation as a tuning task: Table 2 and Figure 5 of Huang et al. in kind, with real noise between trainings.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization,
arXiv:2007.05670, section 8.2. Tuned are the number of operations that an image gets, and a weight and a level for each
of five families of operations. A step is two epochs, and every trial starts from an initialisation of its own. The
configuration that a study recommends is trained again with seeds that no trial had, and tested on images that the
study did not see.

Differs from the paper in the space (there: five sub-policies of two operations, each with a probability and a
magnitude), in that flips and crops are not added to what is tuned, and in size: two convolutions instead of a
Wide-ResNet-28-10, 500 images, one worker.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import nn

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.harness.recorded import best_seen
from benchmarks.suites.augment import setting
from benchmarks.suites.augment.runs import done
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import LEVELS, OPERATIONS
from shoestring.core.randomness import generator, integer
from shoestring.executors import Simulated

FAMILIES = {
    "turn": ("ShearX", "ShearY", "Rotate"),
    "shift": ("TranslateX", "TranslateY"),
    "tone": ("AutoContrast", "Equalize", "Contrast", "Brightness", "Color", "Sharpness"),
    "negative": ("Invert", "Solarize", "Posterize"),
    "cut": ("Cutout",),
}
MOST = 4  # operations of an image
SPACE = ss.space(
    operations=(0, MOST),
    **{f"{family}_weight": (0.0, 1.0) for family in FAMILIES},
    **{f"{family}_level": (0, LEVELS - 1) for family in FAMILIES},
)
STEPS, EPOCHS, BATCH, RATE = 27, 2, 50, 0.1  # steps of a training, epochs of a step
TRAININGS, AT = 15, (1, 2, 4, 8, 15)  # full trainings of a study, and where its progress is read
FINALS = 3  # trainings of what a study recommends
METHODS = ("random", "bohb", "boss", "boss-mss", "auto")
PAPER = {"random": 97.01, "bohb": 97.25, "boss": 97.32}
WITHOUT = {"no augmentation": 0, "two operations at level 5": 2}


def augmented(images: Any, config: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """Every image under operations of its own, which are drawn by the weights of their families."""
    weights = np.array([config[f"{family}_weight"] for family in FAMILIES]) + 1e-9
    size = len(images), MOST
    family = rng.choice(len(FAMILIES), size, p=weights / weights.sum())
    chances, unused = rng.random(size), np.arange(MOST) >= config["operations"]
    names = list(FAMILIES.values())
    members = np.array([len(group) for group in names])[family]
    table = np.array([[OPERATIONS.index(group[i % len(group)]) for i in range(len(OPERATIONS))] for group in names])
    operations = np.where(unused, OPERATIONS.index("ShearX"), table[family, (chances * members).astype(int)])
    levels = np.where(unused, 0, np.array([config[f"{name}_level"] for name in FAMILIES])[family])
    for place in range(0, MOST, 2):
        draws = rng.random((2, len(images), DRAWS))
        if place < config["operations"]:
            two = slice(place, place + 2)
            images = apply_policies(images, operations[:, two], levels[:, two], draws)
    return images


def network(channels: int) -> nn.Module:
    """Two convolutions with batch-norm, 5,000 weights."""
    first = nn.Conv2d(channels, 16, 3, 2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
    second = nn.Conv2d(16, 32, 3, 2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()
    return nn.Sequential(*first, *second, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def training(data: str, config: Mapping[str, Any], seed: int) -> Iterator[nn.Module]:
    """A network after each step."""
    images, labels = setting.split(data).train
    torch.manual_seed(integer(seed, 0, "network"))
    model = network(images.shape[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS * EPOCHS * (len(labels) // BATCH))
    for epoch in range(STEPS * EPOCHS):
        rng = generator(seed, epoch, "epoch")
        x = augmented(images, config, rng).float() / 255
        model.train()
        for rows in torch.from_numpy(rng.permutation(len(labels))).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optimizer.step()
            schedule.step()
        if epoch % EPOCHS == EPOCHS - 1:
            yield model


def studied(data: str, method: str, seed: int, trainings: int, finals: int) -> dict[str, Any]:
    """The highest validation accuracy after some numbers of trainings, and the test accuracy of what is recommended."""
    valid = setting.split(data).valid

    def objective(trial: ss.Trial) -> Iterator[float]:
        for model in islice(training(data, trial.config, trial.seed), trial.start, None):
            yield setting.tested(model, valid)["accuracy"]

    budget = ss.Budget(steps=trainings * STEPS)
    study = ss.Study(SPACE, budget=budget, method=method, mode="max", max_resource=STEPS, seed=seed)
    study.run(objective, executor=Simulated(1), progress=False)
    config = dict(study.best.config)
    seen = best_seen(list(study.events()), [n * STEPS for n in AT], "max")
    return {"seen": seen, "trials": len(study.trials), "config": config, "test": tested(data, config, seed, finals)}


def tested(data: str, config: Mapping[str, Any], seed: int, finals: int) -> float:
    """The mean test accuracy of new trainings to the end."""
    networks = (list(training(data, config, integer(seed, n, "final training")))[-1] for n in range(finals))
    return statistics.fmean(setting.tested(model, setting.split(data).test)["accuracy"] for model in networks)


def fixed(operations: int) -> dict[str, Any]:
    weights = {f"{family}_weight": 1.0 for family in FAMILIES}
    return {"operations": operations, **weights, **{f"{family}_level": 5 for family in FAMILIES}}


def _all(data: str, options: Options) -> dict[str, list[dict[str, Any]]]:
    """The runs of every method, seed by seed, so that a run that is cut short has whole seeds."""
    trainings, finals = (1, 1) if options.quick else (TRAININGS, FINALS)
    size = {"epochs": STEPS * EPOCHS, "finals": finals}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*WITHOUT, *METHODS)}
    for seed in range(options.seeds):
        for name, operations in WITHOUT.items():
            work = lambda: {"test": tested(data, fixed(operations), seed, finals)}  # noqa: B023, E731
            found[name].append(done(data, seed, f"tuning: {name}", work, **size))
        for name in METHODS:
            work = lambda: studied(data, name, seed, trainings, finals)  # noqa: B023, E731
            found[name].append(done(data, seed, f"tuning: {name}", work, **size, trainings=trainings))
    return found


def _table(data: str, options: Options) -> list[Row]:
    found = _all(data, options)
    rows = []
    for name, results in found.items():
        paper = PAPER.get(name) if data == "cifar10" else None
        rows.append(row(f"{name}: test accuracy", [run["test"] for run in results], paper=paper))
    for name in METHODS:
        rows.append(row(f"{name}: trials", [float(run["trials"]) for run in found[name]]))
        rows.append(row(f"{name}: operations", [float(run["config"]["operations"]) for run in found[name]]))
        for i, n in enumerate(AT):
            rows.append(row(f"{name}, {n} trainings: validation accuracy", [run["seen"][i] for run in found[name]]))
    for name, other in (("boss", "bohb"), ("boss-mss", "bohb"), ("bohb", "random"), ("auto", "random"),
                        ("random", "two operations at level 5")):  # fmt: skip
        pairs = zip(found[name], found[other], strict=True)
        rows.append(row(f"{name} − {other}: test accuracy", [a["test"] - b["test"] for a, b in pairs]))
    return rows


def table_cifar10(options: Options) -> list[Row]:
    """Table 2 of Huang et al. in kind: operations and levels tuned on CIFAR-10"""
    return _table("cifar10", options)


def table_fashion(options: Options) -> list[Row]:
    """Table 2 of Huang et al. in kind: operations and levels tuned on Fashion-MNIST"""
    return _table("fashion_mnist", options)


def figure_5(options: Options) -> list[Row]:
    """Figure 5 of Huang et al. in kind: the highest validation accuracy so far"""
    found = _all("cifar10", options)
    figure, panels = new_figure(1, 1)
    for name in METHODS:
        panels[0, 0].plot(AT, np.mean([run["seen"] for run in found[name]], axis=0), marker="o", ms=3, label=name)
    panels[0, 0].set(xlabel="full trainings", ylabel="validation accuracy, %", xscale="log")
    panels[0, 0].legend(fontsize=7)
    saved(figure, "augment_5", options, dpi=90)
    last = {name: [run["seen"][-1] for run in found[name]] for name in METHODS}
    return [row(f"{name}: validation accuracy", values) for name, values in last.items()]
