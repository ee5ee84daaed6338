"""Density matching: the policies under which held-out images look most like training images to a trained network.

After Lim, Kim, Kim, Kim and Kim, Fast AutoAugment, NeurIPS 2019: a network is trained without augmentation, and
policies are ranked by its loss on augmented held-out images; the lowest are used to train a new network. Nothing is
trained while searching.

Differs from it in that there is one split instead of five, that policies are drawn at random instead of by TPE, and
that an operation has no probability.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.suites.augment import setting
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import POLICIES, decode
from shoestring.core.randomness import generator

TRIED, KEPT, IMAGES = 600, 60, 250


def matching(data: str, seed: int, epochs: int) -> np.ndarray:
    """The policies with the lowest loss, of those that were tried."""
    model, parts = setting.network_trained(data, None, seed, epochs).eval(), setting.split(data)
    rng = generator(seed, 0, "density matching")
    tried = rng.choice(POLICIES, TRIED, replace=False)
    losses = [_loss(model, parts.valid, policy, rng) for policy in tried]
    return np.asarray(tried[np.argsort(losses, kind="stable")[:KEPT]])


@torch.no_grad()
def _loss(model: nn.Module, images: tuple[Any, Any], policy: int, rng: np.random.Generator) -> float:
    rows = torch.from_numpy(rng.choice(len(images[0]), IMAGES, replace=False))
    operations, levels = decode(np.full(IMAGES, policy))
    seen = apply_policies(images[0][rows], operations, levels, rng.random((2, IMAGES, DRAWS)))
    return float(nn.functional.cross_entropy(model(seen.float() / 255), images[1][rows]))
