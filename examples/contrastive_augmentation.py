"""Data augmentation for contrastive learning (SimCLR): eight probabilities tuned online.

Section 5.3 of Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization (ACML 2021),
on a small scale. A contrastive encoder is trained without labels, and it is not known beforehand which augmentations
help. In every round the tuner chooses the eight probabilities, and pays for a linear readout on the validation set
only when that may change its decision. The reward is the round's gain in readout accuracy, in per cent, clipped to
[-2, 2] as in the paper; ε = .01, β = 1 and Matérn 5/2 are the paper's values too.

    python examples/contrastive_augmentation.py                # four seeds
    python examples/contrastive_augmentation.py --seeds 2

Images: Fashion-MNIST from $SHOESTRING_DATA/images (by default ../shared/data), else scikit-learn's digits.
Smaller than the paper: images of 14 × 14, an encoder of two convolutions, and noise instead of grey scale, which
does nothing to a grey image.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import shoestring as ss
from shoestring.integrations.training import OnlineTraining
from shoestring.online import TVGPUCB, Always, Bernoulli, Confident, Exactly, OnlineTuner

STEPS, BATCH = 12, 64
NAMES = ("crop", "contrast", "cutout", "mirror", "flip", "rotation", "blur", "noise")
# As in the paper, cropping is always applied at least half of the time.
SPACE = ss.space(**{name: (0.5 if name == "crop" else 0.0, 1.0) for name in NAMES})
FIXED = dict.fromkeys(NAMES, 0.5)


@dataclass(frozen=True)
class Split:
    x: Tensor
    y: Tensor


def images(seed: int) -> tuple[Split, Split, Split]:
    """Training (labels only for the readout), validation and test images; the test set is the same for every seed."""
    folder = Path(os.environ.get("SHOESTRING_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images"
    file = folder / "fashion_mnist_small.npz"
    if file.exists():
        with np.load(file) as stored:
            x, y = _halved(stored["x_train"]), stored["y_train"]
            test_x, test_y = _halved(stored["x_valid"]), stored["y_valid"]
    else:
        from sklearn.datasets import load_digits

        digits = load_digits()
        shuffled = np.random.default_rng(0).permutation(len(digits.target))
        x, y = digits.images[shuffled][:, None] / 16.0, digits.target[shuffled]
        x, y, test_x, test_y = x[:1200], y[:1200], x[1200:], y[1200:]
    rows = np.random.default_rng(seed).permutation(len(y))
    held = min(2000, len(y) // 3)

    def split(a: Any, b: Any) -> Split:
        return Split(torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.int64))

    return split(x[rows[held:]], y[rows[held:]]), split(x[rows[:held]], y[rows[:held]]), split(test_x, test_y)


def _halved(x: Any) -> Any:
    """28 × 28 grey levels to 14 × 14 in [0, 1]: four times faster on a processor."""
    return x.reshape(-1, 1, 14, 2, 14, 2).mean(axis=(3, 5)) / 255.0


def augmented(x: Tensor, chance: dict[str, float]) -> Tensor:
    """Each augmentation, with its own probability, on each image by itself."""
    n, side = len(x), x.shape[-1]

    def drawn(name: str) -> Tensor:
        return (torch.rand(n) < chance[name]).float()

    angle = drawn("rotation") * 0.8 * (2 * torch.rand(n) - 1)
    size = 1 - drawn("crop") * 0.5 * torch.rand(n)
    across, upright = (1 - 2 * drawn(name) * (torch.rand(n) < 0.5) for name in ("mirror", "flip"))
    right, down = ((1 - size) * (2 * torch.rand(n) - 1) for _ in range(2))
    rows = [
        torch.stack([torch.cos(angle) * size * across, -torch.sin(angle) * size, right], 1),
        torch.stack([torch.sin(angle) * size, torch.cos(angle) * size * upright, down], 1),
    ]
    x = functional.grid_sample(
        x, functional.affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False), align_corners=False
    )
    strength = (drawn("contrast") * 0.8 * (2 * torch.rand(n) - 1)).view(-1, 1, 1, 1)
    x = x * (1 + strength)
    blurred = functional.avg_pool2d(x, 3, stride=1, padding=1)
    x = torch.lerp(x, blurred, drawn("blur").view(-1, 1, 1, 1))
    x = x + 0.2 * drawn("noise").view(-1, 1, 1, 1) * torch.randn_like(x)
    place = torch.arange(side)
    corner = torch.randint(side, (n, 2))
    hidden = [((place - corner[:, i : i + 1]).abs() < side // 4).float() for i in (0, 1)]
    return x * (1 - (drawn("cutout")[:, None, None] * hidden[0][:, :, None] * hidden[1][:, None, :])[:, None])


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(64),
            nn.ReLU(),
            nn.Linear(64, 16),  # narrow, or a linear readout of random features is hard to beat
        )
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(16, 32))

    def forward(self, x: Tensor) -> Tensor:
        return functional.normalize(self.head(self.body(x)), dim=1)


class Trainer:
    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.train, self.valid, self.test = images(seed)
        self.encoder = Encoder()
        self.encoder(self.train.x[:2])
        self.optimiser = torch.optim.Adam(self.encoder.parameters(), lr=5e-3)

    def round(self, chance: dict[str, float]) -> None:
        for _ in range(STEPS):
            x = self.train.x[torch.randint(len(self.train.y), (BATCH,))]
            views = self.encoder(torch.cat([augmented(x, chance), augmented(x, chance)]))
            likeness = views @ views.T / 0.2 - 1e9 * torch.eye(2 * BATCH)
            loss = functional.cross_entropy(likeness, torch.arange(2 * BATCH).roll(BATCH))
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()

    @torch.no_grad()
    def readout(self, split: Split, labelled: int) -> float:
        """Accuracy of a ridge regression on the representation, fitted to the first labelled training images."""
        known, asked = self.encoder.body(self.train.x[:labelled]), self.encoder.body(split.x)
        centre, spread = known.mean(0), known.std(0) + 1e-6
        known, asked = (torch.cat([(r - centre) / spread, torch.ones(len(r), 1)], 1) for r in (known, asked))
        targets = functional.one_hot(self.train.y[:labelled], 10).float()
        weights = torch.linalg.solve(known.T @ known + 1.0 * torch.eye(known.shape[1]), known.T @ targets)
        return float(((asked @ weights).argmax(1) == split.y).float().mean())


@dataclass(frozen=True)
class Result:
    accuracy: float
    looks: int
    seconds: float
    last: dict[str, float]


def run(seed: int, rounds: int, look: Any, fixed: dict[str, float] | None = None) -> Result:
    trainer = Trainer(seed)
    tuner = OnlineTuner(
        SPACE, TVGPUCB("matern52", forgetting=0.01, beta=1.0), look, horizon=rounds, seed=seed, clip=(-2.0, 2.0)
    )
    online = OnlineTraining(tuner, measure=lambda: trainer.readout(trainer.valid, 1000), scale=100.0)
    started, chance = time.process_time(), FIXED
    for _ in range(rounds):
        chance = fixed or online.begin()
        trainer.round(chance)
        if fixed is None:
            online.end()
    seconds = time.process_time() - started
    return Result(trainer.readout(trainer.test, len(trainer.train.y)), tuner.looks, seconds, chance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=50)
    asked = parser.parse_args()
    seeds, rounds, half = range(asked.seeds), asked.rounds, asked.rounds // 2
    torch.set_num_threads(1)
    contenders: dict[str, dict[str, Any]] = {
        "fixed: all at 0.5": {"look": Always(), "fixed": FIXED},
        "TV-GP-UCB, full feedback": {"look": Always()},
        f"TV-GP-UCB, Bernoulli({half / rounds:g})": {"look": Bernoulli(half / rounds)},
        "CE-GP-UCB, κ = 0.8": {"look": Confident(0.8)},
        "CE-GP-UCB, κ = 0.7": {"look": Confident(0.7)},
        f"Exactly({half})": {"look": Exactly(half)},
    }
    print(f"{'':28s} {'test accuracy':>16s} {'looks':>6s} {'time':>6s}")
    plain = 0.0
    for name, options in contenders.items():
        results = [run(seed, rounds, **options) for seed in seeds]
        accuracy = np.array([r.accuracy for r in results])
        seconds = float(np.mean([r.seconds for r in results]))
        plain = plain or seconds
        error = accuracy.std(ddof=1) / len(accuracy) ** 0.5 if len(accuracy) > 1 else 0.0
        looks = 0 if "fixed" in options else np.mean([r.looks for r in results])
        shown = f"{accuracy.mean():.4f} ± {error:.4f}"
        print(f"{name:28s} {shown:>16s} {looks:6.0f} {seconds / plain:5.2f}×", flush=True)


if __name__ == "__main__":
    main()
