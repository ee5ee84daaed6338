"""A self-tuning network whose tuning schedule is chosen online, as a bandit with two arms.

Section 5.2 of Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization (ACML 2021).
The weights respond to hyper-parameters: a dropout rate for each layer and the strengths of augmentations (MacKay et
al., Self-tuning networks, ICLR 2019). A tuning step costs as much as a training step, so in every epoch a bandit
chooses "train only" or "tune and train", and pays for a pass over the validation set only when that may change its
decision.

    python examples/self_tuning_network.py                          # digits, a perceptron, about half a minute
    python examples/self_tuning_network.py --schedules never,always,switching,bernoulli:0.2,kappa:0.7 --seeds 3
    python examples/self_tuning_network.py --network vgg16 --channels 4 --epochs 2 --schedules kappa:0.8

The paper's setting, with CIFAR-10 as a folder of images or an .npz file, for each seed and schedule:

    python examples/self_tuning_network.py --network vgg16 --data cifar10/ --valid 10000 --epochs 150 \
        --decay 60,100,120 --rate 0.1 --batch 128 --schedules always,switching,kappa:0.7,kappa:0.8 \
        --device cuda --state runs/

With --state a run that was interrupted continues after its last epoch; its "seconds" are those since it was started
again. What the paper does not state: the ranges of the hyper-parameters, which augmentations are tuned, and how long a
round is; here it is an epoch.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from shoestring.augment.datasets import labels_of, read_dataset, split_rows
from shoestring.augment.images import Images, as_floats
from shoestring.errors import ShoestringError, SpaceError
from shoestring.online import (
    EXP3R,
    TVGPUCB,
    UCB1,
    Always,
    Bernoulli,
    Confident,
    EpsilonGreedy,
    Exactly,
    OnlineTuner,
    Softmax,
)
from shoestring.online.networks import ARMS, Conv2d, Dropout, HyperParameters, Linear, SelfTuning, Training

STRENGTHS = ("rotation", "scale", "shift", "brightness", "contrast", "noise")
SCHEDULES = (
    r"never|always|switching|full|(every|exactly):[1-9]\d*|(kappa|bernoulli|exp3r|greedy|softmax|ucb):[01]?\.?\d+"
)
# The smallest number that an option takes.
LEAST = {
    "channels": 1,
    "epochs": 1,
    "batch": 1,
    "rate": 1e-12,
    "tuning_rate": 1e-12,
    "most": 0,
    "size": 0,
    "workers": 0,
}
VGG16 = (1, 1, "pool", 2, 2, "pool", 4, 4, 4, "pool", 8, 8, 8, "pool", 8, 8, 8, "pool")


@dataclass(frozen=True)
class Options:
    """The options of the command line, with what runs in half a minute as the defaults."""

    network: str = "mlp"
    channels: int = 64  # of the first layers of vgg16; a perceptron has twice as many units
    data: str = "digits"
    size: int = 0  # pixels a side, 0: as they are; a folder of images is read at 32
    valid: float = 0.3  # of the training images: a share, or a number from 1 on
    most: int = 0  # training images to use; 0: all
    epochs: int = 40
    decay: str = "16,27,32"  # epochs after which the learning rate is a tenth
    rate: float = 0.05
    tuning_rate: float = 0.03
    batch: int = 64
    device: str = "cpu"
    workers: int = 0
    state: str = ""  # folder of the state files


def perceptron(pixels: int, classes: int, units: int, hyper: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), Linear(pixels, units, hyper), nn.ReLU(), Dropout("dropout 1"),
        Linear(units, units, hyper), nn.ReLU(), Dropout("dropout 2"), Linear(units, classes, hyper),
    )  # fmt: skip


def vgg16(inputs: int, classes: int, channels: int, hyper: int) -> nn.Module:
    """Thirteen convolutions, each with batch normalisation and a dropout rate of its own; for images from 8 pixels."""
    layers: list[nn.Module] = []
    for entry in VGG16:
        if isinstance(entry, str):
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
            continue
        outputs = entry * channels
        number = sum(isinstance(layer, Conv2d) for layer in layers) + 1
        layers += [Conv2d(inputs, outputs, 3, hyper, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers.append(Dropout(f"dropout {number}"))
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), Linear(inputs, classes, hyper))


def self_tuning(options: Options, shape: tuple[int, int, int], classes: int) -> SelfTuning:
    dropouts = 13 if options.network == "vgg16" else 2
    ranges = {f"dropout {i}": (0.0, 0.8) for i in range(1, dropouts + 1)} | dict.fromkeys(STRENGTHS, (0.0, 1.0))
    start = {f"dropout {i}": 0.05 for i in range(1, dropouts + 1)} | dict.fromkeys(STRENGTHS, 0.05)
    hyper = HyperParameters(ranges, start=start)
    if options.network == "vgg16":
        body = vgg16(shape[0], classes, options.channels, len(ranges))
    else:
        body = perceptron(int(np.prod(shape)), classes, 2 * options.channels, len(ranges))
    return SelfTuning(body, hyper)


def augmented(x: Tensor, strength: dict[str, Tensor]) -> Tensor:
    """Each example with its own strengths; a strength of 1 is a rotation by 35 degrees, a scale of .7 to 1.3, …"""
    x = as_floats(x)
    n = len(x)

    def draw(name: str) -> Tensor:
        return strength[name] * (2 * torch.rand(n, device=x.device) - 1)

    angle, size = 0.6 * draw("rotation"), 1 + 0.3 * draw("scale")
    cos, sin = torch.cos(angle) * size, torch.sin(angle) * size
    right, down = 0.3 * draw("shift"), 0.3 * draw("shift")
    theta = torch.stack([torch.stack([cos, -sin, right], 1), torch.stack([sin, cos, down], 1)], 1)
    x = functional.grid_sample(
        x, functional.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False
    )
    x = x * (1 + draw("brightness").view(-1, 1, 1, 1))
    middle = x.mean(dim=(1, 2, 3), keepdim=True)
    x = middle + (x - middle) * (1 + draw("contrast").view(-1, 1, 1, 1))
    return x + 0.5 * strength["noise"].view(-1, 1, 1, 1) * torch.randn_like(x)


class AsFloats(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(as_floats(x))


def images(options: Options, seed: int) -> tuple[Any, Any, Any, int]:
    """Training, validation and test images and the number of classes; the test images are the same for every seed."""
    source = None if options.data == "digits" else Path(options.data)
    rest, test, classes = read_dataset(source, options.size or 32, test=True, stream=options.workers > 0)
    kept, held = split_rows(labels_of(rest), options.valid if options.valid < 1 else int(options.valid), seed)
    kept = kept[: options.most or None]
    if not isinstance(rest, Images):
        return torch.utils.data.Subset(rest, kept), torch.utils.data.Subset(rest, held), test, classes

    def resized(given: Images) -> tuple[Tensor, Tensor]:
        x = as_floats(given.images)
        return (functional.interpolate(x, options.size, mode="area") if options.size else x), given.labels

    return *(resized(part) for part in (rest.select(kept), rest.select(held), test)), classes  # type: ignore[return-value]


def schedule(name: str, epochs: int, seed: int) -> OnlineTuner | Callable[[int], bool]:
    """A fixed schedule by its name, or a tuner: "kappa:0.8" is CE-GP-UCB, and "ucb:0.2" looks in 20 % of the epochs."""
    every, switch = re.fullmatch(r"every:(\d+)", name), 2 * epochs // 3
    fixed = {"never": lambda t: False, "always": lambda t: True, "switching": lambda t: t < switch or t % 2 == 0}
    if name in fixed:
        return fixed[name]  # type: ignore[return-value]
    if every:
        return lambda t: t % int(every[1]) == 0
    if not re.fullmatch(SCHEDULES, name):
        raise SpaceError(
            f"--schedules {name} is not known; there are never, always, switching, full, every:N, exactly:N and, with "
            "a number between 0 and 1 as in kappa:0.8, kappa, bernoulli, exp3r, greedy, softmax and ucb"
        )
    kind, _, number = name.partition(":")
    policies = {"exp3r": EXP3R(low=-2.0, high=2.0), "greedy": EpsilonGreedy(0.1, step=0.2),
                "softmax": Softmax(0.5, step=0.2), "ucb": UCB1()}  # fmt: skip
    # The paper's forgetting rate; the noise and the scale of the gains are learned.
    policy = policies.get(kind, TVGPUCB(forgetting=0.01))
    looks = {"full": lambda _: Always(), "exactly": lambda n: Exactly(int(n)), "kappa": lambda k: Confident(float(k))}
    look = looks.get(kind, lambda share: Bernoulli(float(share)))(number)
    return OnlineTuner(list(ARMS), policy, look, horizon=epochs, seed=seed, clip=(-2.0, 2.0))


def numbers(option: str, given: str) -> list[int]:
    if not re.fullmatch(r"(\d+(,\d+)*)?", given):
        raise SpaceError(f"{option} {given} is not a list of whole numbers; give them as in 60,100,120")
    return [int(number) for number in given.split(",") if number]


def training(options: Options, name: str, seed: int) -> tuple[Training, Any, Any]:
    """The training of a schedule, its validation images and its test images."""
    torch.manual_seed(seed)
    train, valid, test, classes = images(options, seed)
    shape = tuple(train[0].shape[1:]) if isinstance(train, tuple) else tuple(train[0][0].shape)
    network = self_tuning(options, shape, classes)  # type: ignore[arg-type]
    network.network = AsFloats(network.network)
    running = Training(
        network, train, valid, tunes=schedule(name, options.epochs, seed), batch=options.batch, augment=augmented,
        optimizer=lambda p: torch.optim.SGD(p, lr=options.rate, momentum=0.9, weight_decay=2e-4),
        tuning_optimizer=lambda p: torch.optim.Adam(p, lr=options.tuning_rate),
        scheduler=lambda o: torch.optim.lr_scheduler.MultiStepLR(o, numbers("--decay", options.decay), 0.1),
        workers=options.workers, seed=seed, device=options.device,
        state=Path(options.state) / f"{name.replace(':', '-')}-{seed}.pt" if options.state else None,
    )  # fmt: skip
    return running, valid, test


def run(options: Options, name: str, seed: int) -> dict[str, float]:
    """The numbers of Table 1 for one schedule and one seed."""
    running, valid, test = training(options, name, seed)
    started = time.process_time()
    running.run(options.epochs)
    seconds, rounds = time.process_time() - started, running.rounds
    (valid_loss, valid_accuracy), (test_loss, test_accuracy) = running.evaluate(valid), running.evaluate(test)
    return {
        "validation loss": valid_loss, "validation accuracy": valid_accuracy, "test loss": test_loss,
        "test accuracy": test_accuracy, "looks": sum(line.looked for line in rounds),
        "tuned": sum(line.tuned for line in rounds) / len(rounds), "seconds": seconds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Options):
        kind = {"int": int, "float": float, "str": str}[str(field.type)]
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    parser.add_argument("--schedules", default="never,always,kappa:0.8", help="separated by commas")
    parser.add_argument("--seeds", type=int, default=1)
    given = vars(parser.parse_args())
    names, seeds = given.pop("schedules").split(","), range(given.pop("seeds"))
    options = Options(**given)
    if options.network not in ("mlp", "vgg16"):
        parser.error(f"--network {options.network} is not known; there are mlp and vgg16")
    for option, least in {**LEAST, "seeds": 1}.items():
        if not (value := len(seeds) if option == "seeds" else given[option]) >= least:
            parser.error(f"--{option.replace('_', '-')} {value:g} is too small: it must be at least {least:g}")
    try:
        torch.empty(0, device=options.device)
    except (RuntimeError, AssertionError):
        parser.error(f"--device {options.device}: this torch has no such device; leave --device out for the processor")
    if options.device == "cpu":
        torch.set_num_threads(1)
    try:
        show(options, names, seeds)
    except ShoestringError as error:  # of the options, the data or the state
        parser.error(str(error))


def show(options: Options, names: list[str], seeds: range) -> None:
    """Run the schedules one after the other, and print a row for each."""
    for name in names:
        schedule(name, options.epochs, 0)  # one that is not known ends the program before the first is trained
    columns = ("validation loss", "validation accuracy", "test loss", "test accuracy", "looks", "tuned", "seconds")
    print(f"{'':16s}" + "".join(f"{column:>21s}" for column in columns))
    for name in names:
        found = [run(options, name, seed) for seed in seeds]
        cells = []
        for column in columns:
            values = np.array([line[column] for line in found])
            error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
            cells.append(f"{values.mean():.3f}{error}")
        print(f"{name:16s}" + "".join(f"{cell:>21s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
