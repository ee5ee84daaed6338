"""A training of a self-tuning network to be killed: python self_tuning.py STATE."""

import sys

import torch
from torch import nn

from shoestring.online import CEGPUCB
from shoestring.online.networks import ARMS, Conv2d, Dropout, HyperParameters, Linear, SelfTuning, Training

ROUNDS = 12


def data(seed, n=96):
    """Images whose class is the brightest of three stripes."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (n,), generator=generator)
    images = torch.rand(n, 1, 6, 6, generator=generator)
    for row, label in enumerate(labels):
        images[row, 0, 2 * label : 2 * label + 2] += 0.3
    return images, labels


def network():
    hyper = HyperParameters({"dropout": (0.0, 0.9), "noise": (0.0, 1.0)}, start={"noise": 0.1})
    body = nn.Sequential(
        Conv2d(1, 4, 3, 2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), Dropout("dropout"), nn.Flatten(), Linear(144, 3, 2)
    )
    return SelfTuning(body, hyper)


def noisy(images, values):
    return images + values["noise"].view(-1, 1, 1, 1) * torch.randn_like(images)


def training(state=None, *, seed=0, kappa=0.8, **options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tuner = CEGPUCB(list(ARMS), horizon=ROUNDS, kappa=kappa, forgetting=0.01, clip=(-2, 2))
    settings = {"tunes": tuner, "batch": 16, "augment": noisy, "seed": seed, "state": state} | options
    settings.setdefault("scheduler", lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [4, 8], 0.1))
    return Training(network(), data(1), data(2), **settings)


if __name__ == "__main__":
    training(sys.argv[1]).run(ROUNDS)
