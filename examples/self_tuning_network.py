"""A self-tuning network whose tuning schedule is chosen online, as a bandit with two arms.

Section 5.2 of Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization (ACML 2021),
on a small scale. A hypernetwork makes the weights a function of five hyper-parameters (two dropout rates, three
augmentation strengths; MacKay et al., Self-tuning networks, ICLR 2019), so that they can be tuned by gradient descent
during training. A tuning step costs as much as a training step, so in every round a tuner chooses "train only" or
"tune and train", and pays for a pass over the validation set only when that may change its decision. The reward is
the round's gain in validation accuracy, in per cent.

    python examples/self_tuning_network.py                # five seeds
    python examples/self_tuning_network.py --seeds 2

Images: Fashion-MNIST from $SHOESTRING_DATA/images (by default ../shared/data), else scikit-learn's digits.
Smaller than the paper: a perceptron of 128 units, 800 training images, and perturbations of fixed width.
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

from shoestring.integrations.training import OnlineTraining
from shoestring.online import TVGPUCB, Always, Bernoulli, Confident, Exactly, OnlineTuner

STEPS, BATCH = 5, 64
ARMS = ["train only", "tune and train"]
LARGEST = torch.tensor([0.8, 0.8, 1.0, 1.0, 1.0])  # dropout twice, then geometry, brightness, noise


@dataclass(frozen=True)
class Split:
    x: Tensor
    y: Tensor

    def batch(self, rng: torch.Generator) -> Split:
        rows = torch.randint(len(self.y), (BATCH,), generator=rng)
        return Split(self.x[rows], self.y[rows])


def images(seed: int) -> tuple[Split, Split, Split]:
    """Training, validation and test images as (n, 1, h, w) in [0, 1]; the test set is the same for every seed."""
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
    held = min(1000, len(y) // 2)

    def split(a: Any, b: Any) -> Split:
        return Split(torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.int64))

    train, valid = rows[held : held + 800], rows[:held]
    return split(x[train], y[train]), split(x[valid], y[valid]), split(test_x, test_y)


def _halved(x: Any) -> Any:
    """28 × 28 grey levels to 14 × 14 in [0, 1]: four times faster on a processor."""
    return x.reshape(-1, 1, 14, 2, 14, 2).mean(axis=(3, 5)) / 255.0


class Responsive(nn.Module):
    """A linear layer whose weights respond to the hyper-parameters: Wx + b + (Vλ) ∘ (W'x + b')."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.base, self.response = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)
        self.scale = nn.Linear(len(LARGEST), outputs, bias=False)
        nn.init.normal_(self.scale.weight, std=0.01)

    def forward(self, x: Tensor, hyper: Tensor) -> Tensor:
        return self.base(x) + self.scale(hyper) * self.response(x)


class SelfTuning(nn.Module):
    def __init__(self, pixels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Responsive(pixels, 128), Responsive(128, 128), Responsive(128, 10)])
        self.hyper = nn.Parameter(torch.zeros(len(LARGEST)))  # the middle of every range

    def forward(self, x: Tensor, hyper: Tensor, dropout: Tensor | None = None) -> Tensor:
        x = x.flatten(1)
        for i, layer in enumerate(self.layers[:-1]):
            x = torch.relu(layer(x, hyper))
            if dropout is not None:
                kept = 1 - dropout[:, i : i + 1]
                x = x * (torch.rand_like(x) < kept) / kept
        return self.layers[-1](x, hyper)


def augmented(x: Tensor, strength: Tensor) -> Tensor:
    """Rotation, scale and shift, then brightness, then noise, each example with its own strength in [0, 1]."""
    n = len(x)
    turn, zoom, right, down = (strength[:, 0] * (2 * torch.rand(n) - 1) for _ in range(4))
    angle, size = 0.6 * turn, 1 + 0.3 * zoom
    cos, sin = torch.cos(angle) * size, torch.sin(angle) * size
    theta = torch.stack([torch.stack([cos, -sin, 0.3 * right], 1), torch.stack([sin, cos, 0.3 * down], 1)], 1)
    x = functional.grid_sample(
        x, functional.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False
    )
    bright, noise = strength[:, 1].view(-1, 1, 1, 1), strength[:, 2].view(-1, 1, 1, 1)
    x = x * (1 + bright * (2 * torch.rand(n, 1, 1, 1) - 1))
    return x + 0.5 * noise * torch.randn_like(x)


class Trainer:
    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.train, self.valid, self.test = images(seed)
        self.rng = torch.Generator().manual_seed(seed)
        self.net = SelfTuning(self.train.x[0].numel())
        weights = [p for name, p in self.net.named_parameters() if name != "hyper"]
        self.fitting = torch.optim.Adam(weights, lr=2e-3)
        self.tuning = torch.optim.Adam([self.net.hyper], lr=0.01)

    def round(self, arm: str) -> None:
        for _ in range(STEPS):
            self._train_step()
            if arm == "tune and train":
                self._tune_step()

    def _train_step(self) -> None:
        batch = self.train.batch(self.rng)
        hyper = self.net.hyper.detach() + 0.5 * torch.randn(len(batch.y), len(LARGEST))
        strength = torch.sigmoid(hyper) * LARGEST
        loss = functional.cross_entropy(self.net(augmented(batch.x, strength[:, 2:]), hyper, strength[:, :2]), batch.y)
        self.fitting.zero_grad()
        loss.backward()
        self.fitting.step()

    def _tune_step(self) -> None:
        batch = self.valid.batch(self.rng)
        loss = functional.cross_entropy(self.net(batch.x, self.net.hyper.expand(len(batch.y), -1)), batch.y)
        (self.net.hyper.grad,) = torch.autograd.grad(loss, [self.net.hyper])
        self.tuning.step()

    @torch.no_grad()
    def accuracy(self, split: Split) -> float:
        scores = self.net(split.x, self.net.hyper.expand(len(split.y), -1))
        return float((scores.argmax(1) == split.y).float().mean())


@dataclass(frozen=True)
class Result:
    accuracy: float
    looks: int
    tuned: float
    seconds: float


def run(seed: int, rounds: int, look: Any, fixed: str | None = None) -> Result:
    trainer = Trainer(seed)
    # The paper's forgetting rate and clipping; the noise and the scale of the gains are learned.
    policy = TVGPUCB(forgetting=0.01)
    tuner = OnlineTuner(ARMS, policy, look, horizon=rounds, seed=seed, clip=(-2.0, 2.0))
    online = OnlineTraining(tuner, measure=lambda: trainer.accuracy(trainer.valid), scale=100.0)
    tuned, started = 0, time.process_time()
    for _ in range(rounds):
        arm = fixed or online.begin()
        trainer.round(arm)
        tuned += arm == "tune and train"
        if fixed is None:
            online.end()
    seconds = time.process_time() - started
    return Result(trainer.accuracy(trainer.test), tuner.looks, tuned / rounds, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    asked = parser.parse_args()
    seeds, rounds, half = range(asked.seeds), asked.rounds, asked.rounds // 2
    torch.set_num_threads(1)
    contenders: dict[str, dict[str, Any]] = {
        "fixed: train only": {"look": Always(), "fixed": "train only"},
        "fixed: tune and train": {"look": Always(), "fixed": "tune and train"},
        "TV-GP-UCB, full feedback": {"look": Always()},
        f"TV-GP-UCB, Bernoulli({half / rounds:g})": {"look": Bernoulli(half / rounds)},
        "CE-GP-UCB, κ = 0.7": {"look": Confident(0.7)},
        "CE-GP-UCB, κ = 0.8": {"look": Confident(0.8)},
        f"Exactly({half})": {"look": Exactly(half)},
    }
    print(f"{'':28s} {'test accuracy':>16s} {'looks':>6s} {'tuned':>6s} {'time':>6s}")
    plain = 0.0
    for name, options in contenders.items():
        results = [run(seed, rounds, **options) for seed in seeds]
        accuracy = np.array([r.accuracy for r in results])
        seconds = float(np.mean([r.seconds for r in results]))
        plain = plain or seconds
        error = accuracy.std(ddof=1) / len(accuracy) ** 0.5 if len(accuracy) > 1 else 0.0
        looks, tuned = np.mean([r.looks for r in results]), np.mean([r.tuned for r in results])
        looks = 0 if "fixed" in options else looks
        shown = f"{accuracy.mean():.4f} ± {error:.4f}"
        print(f"{name:28s} {shown:>16s} {looks:6.0f} {tuned:6.0%} {seconds / plain:5.2f}×", flush=True)


if __name__ == "__main__":
    main()
