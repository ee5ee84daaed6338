"""Data augmentation search: find augmentation policies for scikit-learn's digits, then train with and without them.

    python examples/augment_search.py                    # about a minute
    python examples/augment_search.py --steps 300

With only eighty digits to train on a network overfits. The search plays policies while it trains small networks and
rewards those whose batch lowers the loss on held-out digits. It writes policies.json. If it is interrupted, run it
again to continue.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from shoestring.augment import Augment, PolicySet, policies_of, search

TRAIN, VALID = 80, 500


def digits() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Training, validation and test digits, uint8 images of 8 × 8 pixels."""
    stored = load_digits()
    order = np.random.default_rng(0).permutation(len(stored.target))
    images = torch.from_numpy(np.round(stored.images[order] * (255 / 16)).astype(np.uint8))[:, None]
    labels = torch.from_numpy(stored.target[order]).long()
    ends = (0, TRAIN, TRAIN + VALID, len(labels))
    return [(images[start:end], labels[start:end]) for start, end in pairwise(ends)]


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def error_rate(augment: Augment | None, epochs: int, seed: int) -> float:
    """The test error in per cent after training with this augmentation."""
    (images, labels), _, (test_images, test_labels) = digits()
    torch.manual_seed(seed)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(epochs):
        x = (augment(images) if augment else images).float() / 255
        for rows in torch.randperm(TRAIN).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        wrong = model.eval()(test_images.float() / 255).argmax(1) != test_labels
    return 100 * float(wrong.float().mean())


def report(found: PolicySet, epochs: int, seeds: int) -> None:
    for title, pairs in (("best", found.top_pairs(3)), ("worst", found.bottom_pairs(3))):
        print(f"{title} pairs:", "; ".join(f"{item.pair} ({item.mean:.2f})" for item in pairs))
    sets = {
        "no augmentation": None,
        "better half of the pairs": found,
        "best by mean and UCB": found.union(),
        "worst 5 pairs": policies_of(found.bottom_pairs(5)),
    }
    for name, policies in sets.items():
        augments = [None if policies is None else Augment(policies, seed=seed) for seed in range(seeds)]
        rates = [error_rate(augment, epochs, seed) for seed, augment in enumerate(augments)]
        print(f"{name:<26}test error {np.mean(rates):5.1f} %, mean of {seeds} trainings")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=2500, help="search steps (2500)")
    parser.add_argument("--epochs", type=int, default=120, help="epochs of each training (120)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings with each set of policies (3)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    train, valid, _ = digits()
    found = search(
        network, train, valid, budget={"steps": arguments.steps}, batch=16, state=f"augment_search_{arguments.steps}.pt"
    )
    found.save("policies.json")
    report(found, arguments.epochs, arguments.seeds)


if __name__ == "__main__":
    main()
