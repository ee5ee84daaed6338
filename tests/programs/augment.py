"""A search to be killed: python augment.py STATE SAVE_EVERY."""

import sys

import numpy as np
import torch
from torch import nn

from shoestring.augment import search

rng = np.random.default_rng(0)
images = torch.from_numpy(rng.integers(0, 256, (64, 1, 8, 8), dtype=np.uint8))
labels = torch.from_numpy(rng.integers(3, size=64))
data = (images, labels)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(216, 3)
    )


def run(state, save_every=20):
    torch.set_num_threads(1)
    return search(network, data, data, budget="200 steps", rounds=4, batch=16, state=state, save_every=save_every)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
