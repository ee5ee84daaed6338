"""The same tuning task under several budgets: BHPT makes other decisions when there is more to spend.

Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint (IJCAI 2019), section 5.3 and Figure 3: a fixed set
of configurations of two architectures, and a budget in units of training. The table shows, for each budget, the error
that was reached, how many configurations were started, and the share of the budget that one architecture got.

    python examples/bhpt_budgets.py                                       # digits, about a minute
    python examples/bhpt_budgets.py --methods bhpt-paper,bhpt,hyperband,gp-ei --budgets 10,20,40 --seeds 3

The paper's task of ResNet and AlexNet on CIFAR-10, 49 configurations, 40,000 training and 10,000 held-out images; a
unit is about 14 minutes of its GPU, here this many epochs:

    python examples/bhpt_budgets.py --data cifar10/ --held-out 10000 --configurations 49 --resnet wrn-28-1 \
        --channels 64 --unit 5 --most 48 --budgets 10,25,50,100,200 --seeds 10 --device cuda:0 --storage bhpt.db

Interrupt it and start it again: it continues. The error is that on the held-out images, as in the paper.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import shoestring as ss
from shoestring.augment.datasets import read_dataset
from shoestring.augment.images import as_floats
from shoestring.augment.wide_resnet import network_named
from shoestring.errors import ShoestringError, SpaceError
from shoestring.methods import BHPT, named

# Appendix E of the paper: what it tunes, and the values; the rates of decay are ours, the paper does not list them.
VALUES: dict[str, list[Any]] = {
    "architecture": ["resnet", "alexnet"], "optimizer": ["sgd", "momentum", "adagrad"], "batch": [64, 128],
    "rate": [0.01, 0.05, 0.1, 0.5, 1.0], "momentum": [0.5, 0.9], "decay": [0.9, 0.95, 0.99],
}  # fmt: skip


def drawn(count: int) -> list[dict[str, Any]]:
    """The configurations to choose from, drawn once; every second one has the other architecture."""
    rng = np.random.default_rng(0)
    every = [{name: values[rng.integers(len(values))] for name, values in VALUES.items()} for _ in range(count)]
    return [config | {"architecture": VALUES["architecture"][i % 2]} for i, config in enumerate(every)]


def alexnet(inputs: int, classes: int, channels: int) -> nn.Module:
    """Five convolutions and three linear layers, with adaptive pooling so that small images fit."""
    sizes = [channels, 3 * channels, 6 * channels, 4 * channels, 4 * channels]
    layers: list[nn.Module] = []
    for place, outputs in enumerate(sizes):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        if place in (0, 1, 4):
            layers.append(nn.MaxPool2d(2))
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    for _ in range(2):
        layers += [nn.Dropout(0.5), nn.Linear(inputs, 16 * channels), nn.ReLU()]
        inputs = 16 * channels
    return nn.Sequential(*layers, nn.Linear(inputs, classes))


class Objective:
    """Trains for one unit of the budget a step."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.configurations = given, drawn(given.configurations)
        held_out = given.held_out if given.held_out < 1 else int(given.held_out)
        source = None if given.data == "digits" else Path(given.data)
        train, valid, self.classes = read_dataset(source, given.size, held_out=held_out)
        self.train, self.valid = (
            (as_floats(p.images).to(given.device), p.labels.to(given.device)) for p in (train, valid)
        )

    def __call__(self, trial: Any) -> Any:
        (x, y), (valid_x, valid_y), config = self.train, self.valid, self.configurations[trial.config["number"]]
        torch.manual_seed(trial.seed)
        if config["architecture"] == "resnet":
            model = network_named(self.given.resnet, x.shape[1], self.classes)
        else:
            model = alexnet(x.shape[1], self.classes, self.given.channels)
        model.to(self.given.device)
        optimizer: Any = torch.optim.SGD(model.parameters(), lr=config["rate"])
        if config["optimizer"] == "momentum":
            optimizer = torch.optim.SGD(model.parameters(), lr=config["rate"], momentum=config["momentum"])
        elif config["optimizer"] == "adagrad":
            optimizer = torch.optim.Adagrad(model.parameters(), lr=config["rate"])
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, config["decay"])
        parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        if (state := trial.checkpoint.load()) is not None:
            for name, part in parts.items():
                part.load_state_dict(state[name])
        for unit in range(trial.start + 1, self.given.most + 1):
            torch.manual_seed(trial.seed + unit)
            for _ in range(self.given.unit):
                model.train()
                for rows in torch.randperm(len(y)).split(config["batch"]):
                    optimizer.zero_grad()
                    functional.cross_entropy(model(x[rows]), y[rows]).backward()
                    optimizer.step()
                schedule.step()
            model.eval()
            with torch.no_grad():
                wrong = sum(
                    int((model(a).argmax(1) != b).sum())
                    for a, b in zip(valid_x.split(500), valid_y.split(500), strict=True)
                )
            trial.checkpoint.save({name: part.state_dict() for name, part in parts.items()})
            yield wrong / len(valid_y)


def method_named(name: str) -> Any:
    return BHPT.paper(epsilon=0.5) if name == "bhpt-paper-eps" else named(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="bhpt-paper", help="separated by commas; bhpt-paper-eps is that with ε")
    parser.add_argument("--budgets", default="6,18", help="in units, separated by commas")
    parser.add_argument("--unit", type=int, default=1, help="epochs in a unit of the budget")
    parser.add_argument("--most", type=int, default=12, help="units of a whole training")
    parser.add_argument("--configurations", type=int, default=12, help="how many there are to choose from")
    parser.add_argument("--data", default="digits", help="digits, a folder of images or an .npz file")
    parser.add_argument("--size", type=int, default=32, help="pixels a side, for a folder")
    parser.add_argument("--held-out", type=float, default=0.4, help="images to hold out: a share, or a number")
    parser.add_argument("--resnet", default="wrn-10-1", help="wrn-DEPTH-WIDTH; wrn-28-1 is an ordinary ResNet")
    parser.add_argument("--channels", type=int, default=8, help="of the first layer of AlexNet; 64 as published")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--storage", default="bhpt_budgets.db")
    given = parser.parse_args()
    if given.device == "cpu":
        torch.set_num_threads(1)
    for option in ("unit", "configurations", "channels", "seeds"):
        if (value := getattr(given, option)) < 1:
            parser.error(f"--{option} {value} is too small: it must be at least 1")
    try:
        torch.empty(0, device=given.device)
    except (RuntimeError, AssertionError):
        parser.error(f"--device {given.device}: this torch has no such device; leave it out for the processor")
    try:
        show(given)
    except ShoestringError as error:  # of the options, the data or the storage
        parser.error(str(error))


def show(given: argparse.Namespace) -> None:
    """Run every method with every budget, and print a row for each."""
    methods = {name: method_named(name) for name in given.methods.split(",")}
    network_named(given.resnet, 1, 2)  # a name that is not possible ends the program before the first training
    objective = Objective(given)
    print(f"{'method':16s}{'budget':>8s}{'held-out error':>18s}{'configurations':>16s}{'share of ResNet':>17s}")
    for name, method in methods.items():
        for budget in whole_numbers("--budgets", given.budgets):
            found = [outcome(given, objective, name, method, budget, seed) for seed in range(given.seeds)]
            mean = np.mean(found, axis=0)
            error = f" ± {np.std([f[0] for f in found], ddof=1) / len(found) ** 0.5:.4f}" if len(found) > 1 else ""
            print(f"{name:16s}{budget:8d}{f'{mean[0]:.4f}{error}':>18s}{mean[1]:16.1f}{mean[2]:17.0%}", flush=True)


def data_name(data: str) -> str:
    """A folder or file as a part of a study's name: folders of the same name in other places differ."""
    path = Path(data)
    return data if data == "digits" else f"{path.stem}-{crc32(str(path.resolve()).encode()):08x}"


def outcome(
    given: argparse.Namespace, objective: Objective, name: str, method: Any, budget: int, seed: int
) -> tuple[float, int, float]:
    """The error of a study, how many configurations it started, and the share of the budget that ResNets got.

    The name of the study has what its result depends on, so other options start another study in the same storage.
    """
    setting = (data_name(given.data), given.size, given.held_out, given.configurations, given.unit, given.most)
    space = ss.space(number=list(range(given.configurations)))  # independent choices, as the paper has them
    study = ss.tune(
        objective, space, budget=ss.Budget(steps=budget), max_resource=given.most, seed=seed, method=method,
        storage=given.storage,
        name="-".join(map(str, (name, budget, seed, *setting, given.resnet, given.channels))),
    )  # fmt: skip
    steps = dict.fromkeys(VALUES["architecture"], 0)
    for trial in study.trials:
        steps[objective.configurations[trial.config["number"]]["architecture"]] += trial.step
    return study.best.value, len(study.trials), steps["resnet"] / sum(steps.values())


def whole_numbers(option: str, given: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*", given):
        raise SpaceError(f"{option} {given} is not a list of whole numbers; give them as in 10,25,50")
    return [int(number) for number in given.split(",")]


if __name__ == "__main__":
    main()
