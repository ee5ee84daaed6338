"""Data augmentation for contrastive learning (SimCLR): eight probabilities tuned online.

Section 5.3 of Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization (ACML 2021).
An encoder is trained without labels, and it is not known beforehand which augmentations help. In every round a tuner
chooses the eight probabilities, and pays for a linear readout on the validation images only when that may change its
decision. The reward is the round's gain in readout accuracy, in per cent, clipped to [-2, 2].

    python examples/contrastive_augmentation.py                       # digits, a small encoder, about half a minute
    python examples/contrastive_augmentation.py --settings fixed,expert,full,kappa:0.8,bernoulli:0.6 --seeds 3

The paper's setting, with ImageNet100 as a folder of images (train/ and val/); it had 64 GPUs:

    python examples/contrastive_augmentation.py --encoder resnet50 --data imagenet100/ --size 224 --batch 3584 \
        --optimizer lars --rate 4.8 --rounds 200 --steps 0 --device cuda --workers 16 --state runs/ \
        --settings fixed,full,bernoulli:0.6,kappa:0.9,kappa:0.8,kappa:0.7,expert

"fixed" has every probability at .5, "expert" those of Chen et al. (A simple framework for contrastive learning of
visual representations, ICML 2020), "random:7" others that are drawn once; "untrained" is the encoder as it is
initialised, which is better than a trained one on the digits and worse on images of clothes. R10 and R100 are the test
accuracies of a linear layer that is trained on the representation for 10 and 100 epochs, by SGD on standardised
features. resnet18 and resnet50 need torchvision. On grey images, noise takes the place of the conversion to grey, which
does nothing to them. With --state a run that was interrupted continues after its last round; its "seconds" are those
since it was started again.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import shoestring as ss
from shoestring.augment.datasets import labels_of, read_dataset, split_rows
from shoestring.augment.images import Images, as_floats
from shoestring.errors import ShoestringError, SpaceError, StorageError
from shoestring.integrations.training import OnlineTraining
from shoestring.online import TVGPUCB, Always, Bernoulli, Confident, Exactly, OnlineTuner

NAMES = ("crop", "colour", "cutout", "mirror", "flip", "rotation", "blur", "grey")
FIXED = dict.fromkeys(NAMES, 0.5)
EXPERT = {
    "crop": 1.0,
    "colour": 0.8,
    "cutout": 0.0,
    "mirror": 0.5,
    "flip": 0.0,
    "rotation": 0.0,
    "blur": 0.5,
    "grey": 0.2,
}
SETTINGS = r"untrained|fixed|expert|full|(random|exactly):\d+|(kappa|bernoulli):[01]?\.?\d+"
# The smallest number that an option takes.
LEAST = {
    "rate": 1e-12, "batch": 1, "rounds": 1, "steps": 0, "temperature": 1e-6, "labelled": 1, "readout_rate": 1e-12,
    "size": 0, "workers": 0,
}  # fmt: skip
ENCODERS = ("small", "resnet18", "resnet50")
OPTIMIZERS: dict[str, Callable[[Any, float], Any]] = {
    "adam": lambda p, rate: torch.optim.Adam(p, lr=rate),
    "sgd": lambda p, rate: torch.optim.SGD(p, lr=rate, momentum=0.9, weight_decay=1e-4),
    "lars": lambda p, rate: LARS(p, rate),
}


@dataclass(frozen=True)
class Options:
    """The options of the command line, with what runs in half a minute as the defaults."""

    encoder: str = "small"  # or resnet18, resnet50
    data: str = "digits"
    size: int = 0  # pixels a side, 0: as they are; a folder of images is read at 32
    valid: float = 0.3  # of the training images: a share, or a number from 1 on
    optimizer: str = "adam"  # or sgd, lars
    rate: float = 5e-3
    batch: int = 64
    rounds: int = 30
    steps: int = 12  # in a round; 0: an epoch
    temperature: float = 0.2
    labelled: int = 1000  # training images whose labels the readout of a look uses
    readout_rate: float = 0.3  # of the linear layer at the end
    device: str = "cpu"
    workers: int = 0
    state: str = ""  # folder of the state files


class LARS(torch.optim.Optimizer):
    """SGD with momentum and a learning rate for each layer (You, Gitman and Ginsburg, arXiv:1708.03888, 2017)."""

    def __init__(self, parameters: Any, rate: float, momentum: float = 0.9, decay: float = 1e-6, trust: float = 1e-3):
        super().__init__(parameters, {"lr": rate, "momentum": momentum, "decay": decay, "trust": trust})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                update, scale = weight.grad, 1.0
                if weight.ndim > 1:  # biases and batch normalisation have the plain rate
                    update = update + group["decay"] * weight
                    size, slope = float(weight.norm()), float(update.norm())
                    scale = group["trust"] * size / slope if size > 0 and slope > 0 else 1.0
                velocity = self.state[weight].setdefault("velocity", torch.zeros_like(weight))
                velocity.mul_(group["momentum"]).add_(update, alpha=scale * group["lr"])
                weight.sub_(velocity)


def augmented(x: Tensor, chance: dict[str, float]) -> Tensor:
    """Each augmentation, with its own probability, on each image by itself."""
    n, channels, side = x.shape[:3]

    def draw(name: str) -> Tensor:
        return (torch.rand(n, device=x.device) < chance[name]).float()

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n, device=x.device)

    angle, size = draw("rotation") * between(-0.8, 0.8), 1 - draw("crop") * between(0, 0.5)
    across, upright = (1 - 2 * draw(name) * (between(0, 1) < 0.5) for name in ("mirror", "flip"))
    right, down = ((1 - size) * between(-1, 1) for _ in range(2))
    rows = [
        torch.stack([torch.cos(angle) * size * across, -torch.sin(angle) * size, right], 1),
        torch.stack([torch.sin(angle) * size, torch.cos(angle) * size * upright, down], 1),
    ]
    x = functional.grid_sample(
        x, functional.affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False), align_corners=False
    )
    colour = draw("colour")
    for axes in ((1, 2, 3), (2, 3)) if channels == 3 else ((1, 2, 3),):  # of the image, then of each channel
        shape = (n, *(1 if axis in axes else x.shape[axis] for axis in (1, 2, 3)))
        x = x * (1 + colour.view(-1, 1, 1, 1) * 0.8 * (2 * torch.rand(shape, device=x.device) - 1))
    x = torch.lerp(x, functional.avg_pool2d(x, 3, stride=1, padding=1), draw("blur").view(-1, 1, 1, 1))
    grey = draw("grey").view(-1, 1, 1, 1)
    x = (
        torch.lerp(x, x.mean(1, keepdim=True).expand_as(x), grey)
        if channels == 3
        else x + 0.2 * grey * torch.randn_like(x)
    )
    place, corner = torch.arange(side, device=x.device), torch.randint(side, (n, 2), device=x.device)
    hidden = [((place - corner[:, i : i + 1]).abs() < side // 4).float() for i in (0, 1)]
    return x * (1 - (draw("cutout")[:, None, None] * hidden[0][:, :, None] * hidden[1][:, None, :])[:, None])


class Encoder(nn.Module):
    """A representation and its projection by two layers, which the contrastive loss sees."""

    def __init__(self, kind: str, channels: int) -> None:
        super().__init__()
        if kind == "small":
            features = 16  # narrow, or a linear readout of random features is hard to beat
            self.body: nn.Module = nn.Sequential(
                nn.Conv2d(channels, 16, 3, stride=2, padding=1), nn.ReLU(),
                nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, features),
            )  # fmt: skip
        else:
            from torchvision import models

            self.body = getattr(models, kind)()
            features = self.body.fc.in_features
            self.body.fc = nn.Identity()
            if channels == 1:
                self.body.conv1 = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
        self.head = nn.Sequential(nn.Linear(features, max(features, 32)), nn.ReLU(), nn.Linear(max(features, 32), 128))

    def forward(self, x: Tensor) -> Tensor:
        return functional.normalize(self.head(self.body(x)), dim=1)


class Learner:
    """The images, the encoder and its training; every draw follows from the seed and the round."""

    def __init__(self, options: Options, seed: int) -> None:
        self.options, self.seed, self.device = options, seed, torch.device(options.device)
        source = None if options.data == "digits" else Path(options.data)
        rest, test, self.classes = read_dataset(source, options.size or 32, test=True, stream=options.workers > 0)
        kept, held = split_rows(labels_of(rest), options.valid if options.valid < 1 else int(options.valid), seed)
        if isinstance(rest, Images):
            self.train, self.valid, self.test = (
                self._held(part) for part in (rest.select(kept), rest.select(held), test)
            )
        else:
            self.train, self.valid = (torch.utils.data.Subset(rest, rows.tolist()) for rows in (kept, held))
            self.test = test
        torch.manual_seed(seed)
        self.encoder = Encoder(options.encoder, self.train[0][0].shape[0]).to(self.device)
        several = self.device.type == "cuda" and torch.cuda.device_count() > 1
        self.forward = nn.DataParallel(self.encoder) if several else self.encoder
        self.optimizer = OPTIMIZERS[options.optimizer](self.encoder.parameters(), options.rate)
        self.steps = options.steps or max(len(self.train) // options.batch, 1)

    def _held(self, part: Images) -> Any:
        x = as_floats(part.images)
        x = functional.interpolate(x, self.options.size, mode="area") if self.options.size else x
        return torch.utils.data.TensorDataset(x, part.labels)

    def _batches(self, data: Any, rows: list[list[int]]) -> Iterator[tuple[Tensor, Tensor]]:
        if isinstance(data, torch.utils.data.TensorDataset):
            batches: Any = (data[torch.tensor(batch)] for batch in rows)
        else:
            batches = torch.utils.data.DataLoader(data, batch_sampler=rows, num_workers=self.options.workers)
        for x, y in batches:
            yield as_floats(x.to(self.device)), y.to(self.device)

    def round(self, number: int, chance: dict[str, float]) -> None:
        """Train for a round, with these probabilities."""
        torch.manual_seed(1_000_003 * self.seed + number)
        n, size = len(self.train), min(self.options.batch, len(self.train))
        order = torch.cat([torch.randperm(n) for _ in range(-(-self.steps * size // n))])[: self.steps * size]
        self.encoder.train()
        for x, _ in self._batches(self.train, order.view(-1, size).tolist()):
            views = self.forward(torch.cat([augmented(x, chance), augmented(x, chance)]))
            same = 1e9 * torch.eye(2 * size, device=self.device)
            likeness = views @ views.T / self.options.temperature - same
            loss = functional.cross_entropy(likeness, torch.arange(2 * size, device=self.device).roll(size))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def represented(self, data: Any, most: int | None = None) -> tuple[Tensor, Tensor]:
        self.encoder.eval()
        rows = torch.arange(min(most or len(data), len(data))).split(512)
        parts = [(self.encoder.body(x), y) for x, y in self._batches(data, [part.tolist() for part in rows])]
        return torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])

    def _standardised(self, data: Any, most: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Representations and labels of training images and of others, on the scale of the first."""
        (known, labels), (asked, truth) = self.represented(self.train, most), self.represented(data)
        centre, spread = known.mean(0), known.std(0) + 1e-6
        return (known - centre) / spread, labels, (asked - centre) / spread, truth

    def quick_readout(self) -> float:
        """Compute what a look pays for: validation accuracy of a ridge regression on the representation."""
        known, labels, asked, truth = self._standardised(self.valid, self.options.labelled)
        known, asked = (torch.cat([part, torch.ones(len(part), 1, device=self.device)], 1) for part in (known, asked))
        targets = functional.one_hot(labels, self.classes).float()
        ridge = torch.eye(known.shape[1], device=self.device)
        weights = torch.linalg.solve(known.T @ known + ridge, known.T @ targets)
        return float(((asked @ weights).argmax(1) == truth).float().mean())

    def readout(self, epochs: int) -> float:
        """Test accuracy of a linear layer that is trained for this many epochs."""
        known, labels, asked, truth = self._standardised(self.test)
        torch.manual_seed(self.seed)
        layer = nn.Linear(known.shape[1], self.classes).to(self.device)
        optimizer = torch.optim.SGD(layer.parameters(), lr=self.options.readout_rate, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        for _ in range(epochs):
            for rows in torch.randperm(len(known)).split(64):
                optimizer.zero_grad()
                functional.cross_entropy(layer(known[rows]), labels[rows]).backward()
                optimizer.step()
            schedule.step()
        with torch.no_grad():
            return float((layer(asked).argmax(1) == truth).float().mean())


def tuning(name: str, rounds: int, seed: int) -> dict[str, float] | OnlineTuner:
    """Fixed probabilities, or the tuner of the paper with a look rule: ε = .01, β = 1 and Matérn 5/2."""
    if not re.fullmatch(SETTINGS, name):
        raise SpaceError(
            f"--settings {name} is not known; there are untrained, fixed, expert, full, random:N, exactly:N and, with "
            "a number between 0 and 1 as in kappa:0.8, kappa and bernoulli"
        )
    kind, _, number = name.partition(":")
    if kind == "random":
        return dict(zip(NAMES, np.random.default_rng(int(number)).random(len(NAMES)).tolist(), strict=True))
    if kind in ("untrained", "fixed", "expert"):
        return EXPERT if kind == "expert" else FIXED
    rules = {"bernoulli": Bernoulli, "kappa": Confident, "exactly": lambda n: Exactly(int(n))}
    look = Always() if kind == "full" else rules[kind](float(number))
    space = ss.space(**dict.fromkeys(NAMES, (0.0, 1.0)))
    policy = TVGPUCB("matern52", forgetting=0.01, beta=1.0)
    return OnlineTuner(space, policy, look, horizon=rounds, seed=seed, clip=(-2.0, 2.0))


def run(options: Options, name: str, seed: int) -> dict[str, float]:
    """The numbers of Table 2 for one setting and one seed, and the accuracy of the last look's kind."""
    learner, chosen = Learner(options, seed), tuning(name, options.rounds, seed)
    online = OnlineTraining(chosen, learner.quick_readout, scale=100.0) if isinstance(chosen, OnlineTuner) else None
    state = Path(options.state) / f"{name.replace(':', '-')}-{seed}.pt" if options.state else None
    description = described(options, name, seed)
    first, seconds = load(state, description, learner, online), 0.0
    for number in range(first, options.rounds if name != "untrained" else 0):
        started = time.process_time()
        learner.round(number, online.begin() if online else chosen)  # type: ignore[arg-type]
        if online:
            online.end()
        seconds += time.process_time() - started
        save(state, description, learner, online, number + 1)
    looks = online.tuner.looks if online else 0
    accuracies = {"R10": learner.readout(10), "R100": learner.readout(100), "validation": learner.quick_readout()}
    return {**accuracies, "looks": looks, "seconds": seconds}


def described(options: Options, name: str, seed: int) -> dict[str, Any]:
    """All that the result of a training depends on, besides the number of its rounds and the images themselves."""
    free = ("rounds", "readout_rate", "device", "workers", "state")
    return {"setting": name, "seed": seed, **{k: v for k, v in asdict(options).items() if k not in free}}


def save(
    path: Path | None, description: dict[str, Any], learner: Learner, online: OnlineTraining | None, done: int
) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = {"encoder": learner.encoder.state_dict(), "optimizer": learner.optimizer.state_dict()}
    content = {**parts, "online": online and online.state_dict(), "done": done, "description": description}
    torch.save(content, f"{path}.new")
    os.replace(f"{path}.new", path)


def load(path: Path | None, description: dict[str, Any], learner: Learner, online: OnlineTraining | None) -> int:
    """Continue from a file; returns how many rounds it has."""
    if path is None or not path.exists():
        return 0
    try:
        content = torch.load(path, weights_only=True, map_location=learner.device)
        saved = content["description"]
    except Exception as error:
        raise StorageError(f"{path} is not a training ({type(error).__name__}); give another --state") from error
    if differ := [f"{name} was {saved.get(name)!r}" for name in description if saved.get(name) != description[name]]:
        raise StorageError(f"{path} holds another training: {', '.join(differ)}. Give another --state")
    learner.encoder.load_state_dict(content["encoder"])
    learner.optimizer.load_state_dict(content["optimizer"])
    if online:
        online.load_state_dict(content["online"])
    return int(content["done"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Options):
        kind = {"int": int, "float": float, "str": str}[str(field.type)]
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    parser.add_argument("--settings", default="fixed,expert,kappa:0.8", help="separated by commas")
    parser.add_argument("--seeds", type=int, default=1)
    given = vars(parser.parse_args())
    names, seeds = given.pop("settings").split(","), range(given.pop("seeds"))
    options = Options(**given)
    for option, known in {"encoder": ENCODERS, "optimizer": tuple(OPTIMIZERS)}.items():
        if (value := given[option]) not in known:
            parser.error(f"--{option} {value} is not known; there are {', '.join(known)}")
    if options.encoder != "small" and find_spec("torchvision") is None:
        parser.error(f"--encoder {options.encoder} needs torchvision: pip install torchvision, or take the small one")
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
    """Run the settings one after the other, and print a row for each."""
    for name in names:
        tuning(name, options.rounds, 0)  # one that is not known ends the program before the first is trained
    columns = ("R10", "R100", "validation", "looks", "seconds")
    print(f"{'':16s}" + "".join(f"{column:>18s}" for column in columns))
    for name in names:
        found = [run(options, name, seed) for seed in seeds]
        cells = []
        for column in columns:
            values = np.array([line[column] for line in found])
            error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.3f}" if len(values) > 1 else ""
            cells.append(f"{values.mean():.3f}{error}")
        print(f"{name:16s}" + "".join(f"{cell:>18s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
