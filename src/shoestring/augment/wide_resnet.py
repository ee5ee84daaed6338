"""Wide residual networks, with which augmentation policies are searched and evaluated.

Reference: Zagoruyko and Komodakis, Wide residual networks, BMVC 2016: WRN-40-2 has a depth of 40 and twice the width.
"""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor, nn

from shoestring.augment.datasets import small_network
from shoestring.errors import MethodError


def network_named(name: str, channels: int, classes: int) -> nn.Module:
    """The network "small", or "wrn-DEPTH-WIDTH", such as "wrn-40-2".

    >>> sum(p.numel() for p in network_named("wrn-40-2", 3, 10).parameters())
    2243546
    """
    if name == "small":
        return small_network(channels, classes)
    found = re.fullmatch(r"wrn-(\d+)-(\d+)", name)
    if found is None:
        raise MethodError(f"there is no network {name!r}; there are small and wrn-DEPTH-WIDTH, such as wrn-40-2")
    return wide_resnet(int(found[1]), int(found[2]), channels, classes)


def wide_resnet(depth: int, width: int, channels: int, classes: int) -> nn.Module:
    """Three groups of blocks of two convolutions, with 16, 32 and 64 times ``width`` channels."""
    if depth < 10 or (depth - 4) % 6 or width < 1:
        raise MethodError(
            f"wrn-{depth}-{width} is not possible: the depth is 6 n + 4, from 10 on, and the width at least 1"
        )
    layers: list[Any] = [nn.Conv2d(channels, 16, 3, padding=1, bias=False)]
    inputs = 16
    for outputs, stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
        for place in range((depth - 4) // 6):
            layers.append(_Block(inputs, outputs, 1 if place else stride))
            inputs = outputs
    layers += [nn.BatchNorm2d(inputs), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]
    for layer in nn.Sequential(*layers).modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out")
    return nn.Sequential(*layers)


class _Block(nn.Module):  # type: ignore[misc]
    """Two convolutions, each after batch normalisation, around a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU())
        self.rest = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        )  # fmt: skip
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        activated = self.first(x)
        around = x if isinstance(self.shortcut, nn.Identity) else activated
        return self.rest(activated) + self.shortcut(around)
